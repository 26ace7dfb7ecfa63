"""The report and the page, in a real Chromium: they fetch nothing, run nothing that came from a stream, and can be used by everybody."""

from __future__ import annotations

import base64
import json

import pytest

from headrace.inspect.capture import Capture
from headrace.inspect.compare import compare, html_of
from headrace.inspect.html import html_report
from headrace.inspect.inspecting import inspect_capture
from headrace.inspect.values import Bounds
from inspect_samples import SAMPLES, chat

NASTY = "</script><script>window.bad = 1</script><img src=x onerror='window.bad = 2'>\"'&<b>"


def report_of(name):
    return html_report(inspect_capture(SAMPLES[name]()))


def violations(page):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="pip install axe-playwright-python").Axe()
    found = axe.run(page).response["violations"]
    return [(one["id"], [node["html"] for node in one["nodes"]]) for one in found]


SMALL_AND_DARK = {"color_scheme": "dark", "viewport": {"width": 390, "height": 800}}
LOOKS = [*((name, SMALL_AND_DARK) for name in SAMPLES), ("broken-arguments", {}), ("cut-with-error", {})]


@pytest.mark.parametrize(("name", "settings"), LOOKS, ids=lambda value: value if isinstance(value, str) else "small" if value else "large")
def test_a_report_fetches_nothing_fits_and_passes_the_accessibility_check(open_page, name, settings):
    few = Bounds(max_rows=40, max_fragments=30)  # the check looks at every piece of text for a while
    page = open_page(html_report(inspect_capture(SAMPLES[name](), bounds=few)), bypass_csp=True, **settings)  # it is a script from outside
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert violations(page) == []
    assert page.fetched == []
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_report_says_nothing_on_the_console_under_its_own_policy(open_page, name):
    page = open_page(report_of(name))
    assert page.said == []
    assert page.locator("h1").inner_text() == SAMPLES[name]().source


def test_a_link_opens_the_row_that_it_leads_to(open_page):
    page = open_page(report_of("parallel-calls"))
    page.locator("article.tool_call").first.get_by_role("link", name="event 14").click()
    row = page.locator("tr.at")
    assert row.locator("th").inner_text() == "14"
    assert row.locator("details").get_attribute("open") is not None
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"


def test_rows_open_and_filter_by_the_keyboard_alone(open_page):
    page = open_page(report_of("broken-arguments"))
    page.get_by_role("button", name="Warnings and errors").focus()
    page.keyboard.press("Enter")
    count = page.locator("tbody tr:visible").count()
    assert 0 < count < page.locator("tbody tr").count()
    assert page.get_by_role("status").inner_text() == f"{count} rows shown"
    page.locator("tbody tr:visible summary").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("tbody tr:visible details pre").first.is_visible()


def test_a_tick_of_the_plot_leads_to_its_row(open_page):
    page = open_page(report_of("cut-with-error"))
    page.locator(".tick.t-error").first.click()
    assert "the worker ran out of memory" in page.locator("tr.at").inner_text()


@pytest.mark.parametrize(
    "event",
    [
        chat({"content": NASTY}),
        chat({"reasoning_content": NASTY}),
        chat({"tool_calls": [{"index": 0, "id": NASTY, "function": {"name": NASTY, "arguments": NASTY}}]}),
        chat(finish=NASTY, model=NASTY),
        b'data: {"error": {"message": ' + json.dumps(NASTY).encode() + b', "code": "</pre><script>window.bad=3</script>"}}\n\n',
        b": " + NASTY.encode() + b"\n\n",
        b"event: " + NASTY.encode() + b"\ndata: x\n\n",
        NASTY.encode(),
    ],
    ids=["text", "reasoning", "call", "finish", "error", "comment", "name", "no stream"],
)
def test_what_a_stream_holds_is_never_run(open_page, event):
    seen = inspect_capture(Capture(source=NASTY, body=event, notes=(NASTY,)), protocol="openai-chat")
    for html in (html_report(seen), html_of(compare(seen, seen))):
        page = open_page(html)
        assert page.evaluate("window.bad") is None
        assert page.locator("img").count() == 0
        assert page.locator("script").count() == 1
        assert page.fetched == []
        assert page.said == []


def test_a_comparison_passes_the_accessibility_check(open_page):
    left, right = (inspect_capture(SAMPLES[name]()) for name in ("parallel-calls", "broken-arguments"))
    page = open_page(html_of(compare(left, right)), bypass_csp=True)
    assert violations(page) == []


def test_the_page_takes_a_pasted_stream(open_page, inspector_url):
    page = open_page(url=inspector_url)
    page.get_by_label("or paste a stream").fill(SAMPLES["parallel-calls"]().body.decode())
    page.get_by_role("button", name="Inspect").click()
    report = page.frame_locator("iframe")
    assert report.locator("h1").inner_text() == "pasted"
    report.get_by_role("button", name="Content").click()  # the report's own script runs inside of the frame
    assert "rows shown" in report.get_by_role("status").inner_text()
    report.get_by_role("link", name="event 14").click()
    assert report.locator("tr.at th").inner_text() == "14"
    assert page.said == []
    assert {url.split("?")[0] for url in page.fetched} <= {inspector_url, inspector_url.replace("/inspect", "/favicon.ico"), "about:srcdoc"}


def test_the_page_takes_a_recording_with_its_times(open_page, inspector_url, tmp_path):
    sample = SAMPLES["long-with-stalls"]()
    (tmp_path / "0001.body").write_bytes(sample.body)
    (tmp_path / "0001.response.json").write_text(json.dumps({"status": 200, "reads": sample.reads, "is_complete": True}))
    page = open_page(url=inspector_url)
    page.set_input_files("#files", [tmp_path / "0001.body", tmp_path / "0001.response.json"])
    report = page.frame_locator("iframe")
    assert report.locator("h1").inner_text() == "0001.body"
    assert report.locator(".stall-label").count() == 3
    with page.expect_download() as download:
        page.get_by_role("link", name="Save the report as a file").click()
    assert download.value.suggested_filename == "0001.body.html"


def test_a_dropped_file_is_taken(open_page, inspector_url):
    page = open_page(url=inspector_url)
    text = base64.b64encode(SAMPLES["reasoning-and-text"]().body).decode()
    page.evaluate(
        """(text) => {
            const data = new DataTransfer();
            data.items.add(new File([Uint8Array.from(atob(text), (one) => one.charCodeAt(0))], "dropped.sse"));
            dispatchEvent(new DragEvent("drop", { dataTransfer: data, cancelable: true, bubbles: true }));
        }""",
        text,
    )
    assert page.frame_locator("iframe").locator("h1").inner_text() == "dropped.sse"


def test_the_page_says_why_a_capture_was_refused(open_page, inspector_url):
    page = open_page(url=inspector_url)
    page.get_by_label("or paste a stream").fill('{"headrace_capture": "x"}')
    page.get_by_role("button", name="Inspect").click()
    page.get_by_text("That did not work: the packed capture cannot be read").wait_for()


def test_the_page_passes_the_accessibility_check_and_fits_a_phone(open_page, inspector_url):
    for settings in ({"color_scheme": "dark"}, {"viewport": {"width": 390, "height": 800}}):
        page = open_page(url=inspector_url, bypass_csp=True, **settings)
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
