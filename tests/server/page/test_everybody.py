"""For everybody: dark and light, a phone, the keyboard alone, screen readers; and nothing from another host."""

from __future__ import annotations

import pytest

PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}


def violations(tab):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="pip install axe-playwright-python").Axe()
    found = axe.run(tab.page).response["violations"]
    return [(one["id"], [node["html"] for node in one["nodes"]]) for one in found]


def fits(tab):
    return tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize(
    "settings", [{}, {"color_scheme": "dark"}, PHONE, {**PHONE, "color_scheme": "dark"}], ids=["light", "dark", "phone", "dark phone"]
)
def test_every_state_fits_and_passes_the_accessibility_check(new_tab, settings, request):
    tab = new_tab(bypass_csp=True, reduced_motion="reduce", **settings).open()  # the check is a script from outside
    name = request.node.callspec.id.replace(" ", "-")
    tab.page.get_by_role("heading", name="Talk to Mill").wait_for()
    tab.page.get_by_text("It has 7 tools").wait_for()
    assert (violations(tab), fits(tab)) == ([], True)
    tab.shoot(f"{name}-welcome")
    for number, words in enumerate(["tour", "tools", "fail"], 1):
        tab.say(words)
        tab.wait_for_end(number)
    while (folded := tab.page.locator("details:not([open]) > summary")).count():
        folded.first.click()
    assert (violations(tab), fits(tab)) == ([], True)
    tab.shoot(f"{name}-thread")
    tab.say("delegate")
    for button in ("Edit…", "Always…", "Deny…"):
        tab.button(button).click()
        assert (violations(tab), fits(tab)) == ([], True)
    tab.shoot(f"{name}-question")
    tab.button("Stop: give the run up").click()
    tab.wait_for_end(4)
    if "is_mobile" in settings:
        tab.button("Conversations").click()
    tab.page.get_by_role("button", name="More about").first.click()
    assert (violations(tab), fits(tab)) == ([], True)
    tab.shoot(f"{name}-list")


def test_the_colours_follow_the_system_until_somebody_chooses(desk):
    def colour():
        return desk.page.evaluate("getComputedStyle(document.body).backgroundColor")

    desk.page.emulate_media(color_scheme="light")
    light = colour()
    desk.page.emulate_media(color_scheme="dark")
    dark = colour()
    assert light != dark
    desk.button("Use the light colours").or_(desk.button("Use the dark colours")).click()
    chosen = colour()
    desk.page.emulate_media(color_scheme="light")
    assert colour() == chosen
    desk.page.reload()
    desk.page.get_by_role("heading", name="Talk to Mill").wait_for()
    assert colour() == chosen


def test_the_keyboard_alone_is_enough(desk):
    keys = desk.page.keyboard

    def tab_to(text):
        for _ in range(60):
            keys.press("Tab")
            if (
                desk.page.evaluate("document.activeElement.getAttribute('aria-label') || document.activeElement.textContent").strip()
                == text
            ):
                return
        raise AssertionError(text)

    assert desk.page.evaluate("document.activeElement.id") == "message"
    keys.type("pay Ada")
    keys.press("Shift+Enter")
    keys.type("30")
    assert desk.box.input_value() == "pay Ada\n30"
    keys.press("Enter")
    desk.button("Approve").wait_for()
    tab_to("Edit…")
    keys.press("Enter")
    keys.press("Control+a")
    keys.type('{"to": "Ada", "euros": 7}')
    tab_to("Approve with these")
    keys.press("Enter")
    desk.wait_for_end(1)
    assert "paid 7 euros to Ada" in desk.thread.inner_text()
    tab_to("Go to the message box")
    keys.press("Enter")
    keys.type("slowly 300")
    keys.press("Enter")
    desk.wait_for_word("w5")
    keys.press("Escape")
    desk.wait_for_end(2)
    tab_to("New chat")
    keys.press("Enter")
    assert desk.page.evaluate("document.activeElement.id") == "message"


def test_enter_while_a_word_is_being_composed_sends_nothing(desk):
    desk.box.fill("にほん")
    desk.page.evaluate(
        "document.getElementById('message').dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', isComposing: true, bubbles: true, cancelable: true }))"
    )
    assert desk.box.input_value() == "にほん"


def test_those_who_listen_hear_whole_sentences(desk):
    desk.page.evaluate(
        """() => {
            window.heard = [];
            const place = [...document.querySelectorAll("[role=status]")].at(-1);
            new MutationObserver(() => window.heard.push(place.textContent)).observe(place, { childList: true, characterData: true, subtree: true });
        }"""
    )
    desk.say("pay Ada 30")
    desk.button("Approve").click()
    desk.wait_for_end()
    desk.page.wait_for_timeout(200)
    heard = desk.page.evaluate("window.heard")
    assert heard == ["Sent.", "pay waits for you.", "Done: paid 30 euros to Ada"]


def test_the_list_of_a_phone_opens_closes_and_gives_the_focus_back(new_tab):
    tab = new_tab(**PHONE).open()
    tab.button("Conversations").click()
    tab.button("New chat").wait_for()
    assert tab.page.evaluate("document.querySelector('main').inert")
    tab.page.keyboard.press("Escape")
    assert tab.page.evaluate("document.activeElement.id") == "open-list"
    assert not tab.page.evaluate("document.querySelector('main').inert")


def test_a_second_of_streaming_draws_at_most_once_a_frame(desk):
    desk.page.evaluate(
        """() => {
            window.tasks = [];
            new PerformanceObserver((list) => window.tasks.push(...list.getEntries().map((one) => one.duration))).observe({ entryTypes: ["longtask"] });
        }"""
    )
    desk.say("long 60")
    desk.page.locator(".foot").wait_for(timeout=60_000)
    tasks = desk.page.evaluate("window.tasks")
    assert max(tasks, default=0) < 1_500, tasks
