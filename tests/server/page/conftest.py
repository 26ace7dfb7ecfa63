"""A server with the page, and real Chromium before it: the system's own, without a network.

The rule of this file: a test gets the server through the fixture `chat` alone, so that the same tests run against whatever serves the page.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from chat_server import KilledChat, ServedChat

NAMES = ("chromium", "chromium-browser", "google-chrome")
SERVERS = {"served": ServedChat}
"""By name, what serves the page: a context manager with `url`, `drop()` (break all connections, listen no more; runs go on) and `back()`; takes `key`."""


@pytest.fixture(params=SERVERS.values(), ids=SERVERS)
def chat(request):
    """A running server."""
    with request.param() as server:
        yield server


@pytest.fixture(params=SERVERS.values(), ids=SERVERS)
def locked_chat(request):
    """One that asks for the key `mill-key`."""
    with request.param(key="mill-key") as server:
        yield server


@pytest.fixture
def mortal_chat(tmp_path):
    """One that can be killed, and takes up its runs again."""
    with KilledChat(tmp_path) as server:
        yield server


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


class Desk:
    """A tab with the page in it, and what a person does there.

    Attributes:
        page: the tab.
        said: what stands on the console, and errors that nobody caught; lost connections aside.
        fetched: every address that was asked for.
    """

    def __init__(self, page, url):
        self.page, self.url = page, url
        self.said, self.fetched = [], []
        page.on("console", lambda message: self._note(message.text))
        page.on("pageerror", lambda error: self._note(str(error)))
        page.on("request", lambda request: self.fetched.append(request.url))
        page.add_init_script(
            "addEventListener('securitypolicyviolation', (event) => console.log(`policy: ${event.violatedDirective} ${event.blockedURI}`))"
        )
        page.set_default_timeout(15_000)

    def _note(self, text):
        if not text.startswith("Failed to load resource: "):
            self.said.append(text)

    @property
    def box(self):
        return self.page.get_by_label("Message", exact=True)

    @property
    def thread(self):
        return self.page.get_by_role("log", name="Conversation")

    @property
    def cards(self):
        return self.page.locator(".card")

    def open(self, hash_=""):
        self.page.goto(self.url + hash_)
        self.page.get_by_role("heading", level=2).or_(self.page.locator(".run")).first.wait_for()
        return self

    def say(self, text):
        self.box.fill(text)
        self.box.press("Enter")

    def wait_for_end(self, number=1):
        """Wait until so many runs have ended here."""
        self.page.locator(".foot").nth(number - 1).wait_for()

    def button(self, name):
        return self.page.get_by_role("button", name=name, exact=True)

    def state(self, name):
        """How the last card of a tool says that it stands."""
        return self.page.locator(".card", has=self.page.locator("summary .name", has_text=name)).last.locator(".state").last.inner_text()

    def words(self):
        """The words w1, w2, … of a slow answer, in the order in which they stand there."""
        return [word for word in self.page.locator(".prose").last.inner_text().split() if word.startswith("w")]

    def wait_for_word(self, word):
        self.page.locator(".run").last.locator(".prose", has_text=re.compile(rf"\b{word}\s")).wait_for()

    def shoot(self, name):
        """Keep a picture for people to look at, if somebody said where."""
        folder = os.environ.get("HEADRACE_SHOTS")
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=Path(folder) / f"{name}.png")


@pytest.fixture
def new_tab(browser, chat):
    """Open tabs; of one context (`beside=`), or of their own."""
    contexts = []

    def new(beside=None, url=None, **settings):
        if beside is not None:
            return Desk(beside.page.context.new_page(), beside.url)
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 860}, **settings})
        contexts.append(context)
        return Desk(context.new_page(), url or chat.url)

    yield new
    for context in contexts:
        context.close()


@pytest.fixture
def desk(new_tab):
    """A tab with the page, open; at the end nobody may have complained and no other host may have been asked."""
    made = new_tab()
    yield made.open()
    assert made.said == []
    assert {address for address in made.fetched if not address.startswith((made.url, "data:", "blob:"))} == set()
