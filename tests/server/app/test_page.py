"""The page's files: what is in the folder, and nothing else."""

from __future__ import annotations

import gzip

import pytest

from app_ground import app_ground


@pytest.fixture
def folder(tmp_path):
    page = tmp_path / "page"
    (page / "assets" / "deep").mkdir(parents=True)
    (page / "index.html").write_text("<!doctype html>the page")
    (page / "assets" / "app-0a1b2c3d4e.js").write_text("let a = 1;\n" * 200)
    (page / "assets" / "deep" / "x.svg").write_text("<svg/>")
    (page / "assets" / ".hidden").write_text("hidden")
    (page / "assets" / "code.py").write_text("secret = 1")
    (tmp_path / "outside.txt").write_text("outside")
    (page / "assets" / "link.txt").symlink_to(tmp_path / "outside.txt")
    return page


async def test_files_have_their_types_and_are_kept_by_browsers_as_long_as_they_hold(folder):
    async with app_ground(page=folder) as ground:
        index = await ground.client.get("/")
        assert (index.text, index.headers["content-type"]) == ("<!doctype html>the page", "text/html; charset=utf-8")
        assert index.headers["cache-control"] == "no-cache"
        assert "script-src 'self'" in index.headers["content-security-policy"]
        script = await ground.client.get("/assets/app-0a1b2c3d4e.js")
        assert script.headers["content-type"] == "text/javascript; charset=utf-8"
        assert script.headers["content-encoding"] == "gzip"
        assert "immutable" in script.headers["cache-control"]
        assert script.text == "let a = 1;\n" * 200
        plain = await ground.client.get("/assets/app-0a1b2c3d4e.js", headers={"accept-encoding": "gzip;q=0"})
        assert "content-encoding" not in plain.headers
        assert plain.text == script.text
        assert (await ground.client.get("/assets/deep/x.svg")).text == "<svg/>"
        for etag in (index.headers["etag"], f'"x", W/{index.headers["etag"]}'):
            again = await ground.client.get("/", headers={"if-none-match": etag})
            assert (again.status_code, again.content) == (304, b"")
        head = await ground.client.head("/")
        assert (head.status_code, head.content) == (200, b"")
        async with ground.client.stream("GET", "/assets/app-0a1b2c3d4e.js") as response:
            packed = b"".join([piece async for piece in response.aiter_raw()])
        assert gzip.decompress(packed).decode() == script.text


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../../outside.txt",
        "/assets/..%2f..%2foutside.txt",
        "/assets/%2e%2e/%2e%2e/outside.txt",
        "/assets//etc/passwd",
        "/assets/%2fetc%2fpasswd",
        "/assets/link.txt",
        "/assets/.hidden",
        "/assets/code.py",
        "/assets/",
        "/assets/deep",
        "/assets/..%5c..%5coutside.txt",
        "/assets/app-0a1b2c3d4e.js%00",
        "/index.html",
    ],
)
async def test_no_path_leads_out_of_the_folder(folder, path):
    async with app_ground(page=folder) as ground:
        assert (await ground.client.get(path)).status_code == 404


async def test_a_package_without_a_page_says_so(tmp_path):
    async with app_ground(page=tmp_path / "none") as ground:
        response = await ground.client.get("/")
        assert (response.status_code, response.json()["error"]["kind"]) == (404, "not_found")
        assert (await ground.client.get("/healthz")).json() == {"status": "ok"}
