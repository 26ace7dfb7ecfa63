"""A real browser: the system's Chromium, without a network."""

from __future__ import annotations

import asyncio
import shutil
import threading
from contextlib import contextmanager

import pytest

from headrace.cli.inspect import answer
from headrace.io.http_server import serving

NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def browser():
    """A browser for the tests of one file, none of which may be asynchronous: what drives it keeps an event loop of its own."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    found = next((path for path in map(shutil.which, NAMES) if path), None)
    if found is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    with sync_api.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def open_page(browser):
    """Open HTML, or an address; everything that the page would fetch, and all that its console says, is written down."""
    contexts = []

    def open_it(html=None, url=None, **settings):
        context = browser.new_context(**{"viewport": {"width": 1100, "height": 900}, **settings})
        contexts.append(context)
        page = context.new_page()
        page.said, page.fetched = [], []
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.on("request", lambda request: page.fetched.append(request.url))
        if html is not None:
            page.set_content(html)
        else:
            page.goto(url)
        return page

    yield open_it
    for context in contexts:
        context.close()


@contextmanager
def _served():
    ready, over = threading.Event(), threading.Event()
    urls = []

    async def serve():
        async with serving(answer) as server:
            urls.append(server.url)
            ready.set()
            await asyncio.to_thread(over.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert ready.wait(30)
        yield urls[0]
    finally:
        over.set()
        thread.join()


@pytest.fixture
def inspector_url():
    """The address of a real inspector's server, which runs in a thread."""
    with _served() as url:
        yield f"{url}/inspect"
