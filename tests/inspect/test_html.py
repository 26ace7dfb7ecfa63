"""The report as a page, read by a parser; what a browser makes of it is in test_in_a_browser.py."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from html import unescape
from html.parser import HTMLParser

import msgspec
import pytest

from headrace.inspect.compare import compare, html_of
from headrace.inspect.html import html_report
from headrace.inspect.inspecting import inspect_capture
from headrace.inspect.markup import Markup, element, join
from headrace.inspect.serve import form
from headrace.inspect.values import Bounds
from inspect_samples import SAMPLES

VOID = {"meta", "input", "br"}


class Reader(HTMLParser):
    """Notes ids, links and attributes; every element that opens must close."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.attributes = [], [], [], set()
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.attributes |= set(found)
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found["href"]] if "href" in found else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.attributes |= set(dict(attrs))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def pages():
    seen = {name: inspect_capture(sample()) for name, sample in SAMPLES.items()}
    few = Bounds(max_rows=6, max_fragments=2, max_warnings=1)
    yield from ((name, html_report(one)) for name, one in seen.items())
    yield from ((f"{name}, cut", html_report(inspect_capture(sample(), bounds=few))) for name, sample in SAMPLES.items())
    yield "compared", html_of(compare(seen["parallel-calls"], seen["broken-arguments"]))
    yield "form", form().body.decode()


PAGES = dict(pages())


@pytest.mark.parametrize("name", PAGES)
def test_every_page_is_well_formed_and_its_links_lead_somewhere_inside_of_it(name):
    page = Reader(PAGES[name])
    assert len(page.ids) == len(set(page.ids))
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)
    assert all(link.startswith("#") for link in page.links)
    assert not any(attribute == "style" or attribute.startswith("on") for attribute in page.attributes)


@pytest.mark.parametrize("name", PAGES)
def test_the_policy_names_the_digests_of_the_very_style_and_script(name):
    page = PAGES[name]
    policy = unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1])
    for tag in ("style", "script"):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        assert f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_text_is_escaped_wherever_it_stands():
    assert (
        element("p", "<b>", Markup("<i></i>"), title='"&', hidden=False, data_x=None, id_="a")
        == '<p title="&quot;&amp;" id="a">&lt;b&gt;<i></i></p>'
    )
    assert join("<", Markup("<")) == "&lt;<"


def test_a_report_without_times_says_so():
    sample = msgspec.structs.replace(SAMPLES["parallel-calls"](), reads=())
    assert "When the bytes came is not known" in html_report(inspect_capture(sample))
    assert "When the bytes came is not known" not in PAGES["parallel-calls"]


def test_rows_that_are_not_shown_are_counted():
    assert "rows not shown" in PAGES["long-with-stalls, cut"]
