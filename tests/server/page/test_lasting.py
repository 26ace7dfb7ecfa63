"""What must not get lost: a reload, a server that drops and returns, a second tab, a key that is asked for."""

from __future__ import annotations

WORDS = [f"w{n}" for n in range(1, 121)]


def test_a_reload_in_mid_stream_loses_and_doubles_nothing(desk):
    desk.say("hello")
    desk.wait_for_end(1)
    desk.say("slowly 120")
    desk.wait_for_word("w10")
    desk.page.reload()
    desk.wait_for_word("w60")
    assert desk.page.locator(".bubble").all_inner_texts() == ["hello", "slowly 120"]
    desk.page.locator(".foot").wait_for()
    assert desk.words() == WORDS
    assert desk.page.locator(".bubble").all_inner_texts() == ["hello", "slowly 120"]


def test_a_reload_after_the_end_shows_the_same(desk):
    desk.say("tools")
    desk.wait_for_end()
    before = desk.thread.inner_text()
    desk.page.reload()
    desk.wait_for_end()
    assert desk.thread.inner_text() == before


def test_a_question_is_still_there_after_a_reload(desk):
    desk.say("pay Ada 30")
    desk.button("Approve").wait_for()
    desk.page.reload()
    desk.button("Approve").click()
    desk.wait_for_end()
    assert "paid 30 euros to Ada" in desk.thread.inner_text()


def test_a_server_that_drops_in_mid_stream_and_returns_loses_and_doubles_nothing(desk, chat):
    desk.say("slowly 120")
    desk.wait_for_word("w10")
    chat.drop()
    desk.page.get_by_text("Connection lost.").wait_for()
    desk.shoot("connection-lost")
    chat.back()
    desk.page.get_by_text("Connected again.").wait_for()
    desk.wait_for_end()
    assert desk.words() == WORDS
    desk.page.get_by_text("Connected again.").wait_for(state="detached")


def test_a_message_that_is_sent_while_the_server_is_down_arrives_once(desk, chat):
    desk.say("hello")
    desk.wait_for_end(1)
    chat.drop()
    desk.say("still there?")
    desk.page.get_by_text("Connection lost.").wait_for()
    chat.back()
    desk.wait_for_end(2)
    assert desk.page.locator(".bubble").all_inner_texts() == ["hello", "still there?"]
    assert "You said: still there?" in desk.thread.inner_text()


def test_a_page_that_opens_before_its_server_is_there_waits_for_it(new_tab, chat):
    tab = new_tab().open()
    tab.page.evaluate("document.querySelector('.welcome').remove()")
    tab.page.context.set_offline(offline=True)
    tab.say("hello")
    tab.page.get_by_text("Connection lost.").wait_for()
    tab.page.context.set_offline(offline=False)
    tab.wait_for_end()


def test_two_tabs_on_one_run_see_the_same(desk, new_tab):
    desk.say("slowly 120")
    desk.wait_for_word("w10")
    other = new_tab(beside=desk)
    other.open(desk.page.evaluate("location.hash"))
    other.wait_for_word("w30")
    desk.wait_for_end()
    other.wait_for_end()
    assert other.words() == desk.words() == WORDS

    # What is begun and answered in one is seen in the other.
    other.say("pay Ada 30")
    desk.button("Approve").wait_for()
    other.button("Approve").wait_for()
    desk.button("Approve").click()
    other.wait_for_end(2)
    assert other.page.locator(".question").count() == 0
    assert "paid 30 euros to Ada" in other.thread.inner_text()


def test_another_browser_follows_through_a_pause(desk, new_tab):
    desk.say("pay Ada 30")
    desk.button("Approve").wait_for()
    other = new_tab()
    other.open(desk.page.evaluate("location.hash"))
    other.button("Approve").wait_for()
    desk.button("Approve").click()
    other.wait_for_end()
    assert other.page.locator(".question").count() == 0


def test_a_run_that_is_not_known_any_more_is_said(new_tab):
    tab = new_tab().open("#nobody/nothing")
    tab.page.get_by_text("does not know this run any more").wait_for()


def test_a_key_is_asked_for_kept_for_the_tab_and_sent(browser, locked_chat, new_tab):
    tab = new_tab(url=locked_chat.url)
    tab.page.goto(locked_chat.url)
    tab.page.get_by_label("API key").fill("wrong")
    tab.page.keyboard.press("Enter")
    tab.page.get_by_text("This key is not known here.").wait_for()
    tab.page.get_by_label("API key").fill("mill-key")
    tab.page.keyboard.press("Enter")
    tab.page.get_by_role("dialog").wait_for(state="detached")
    tab.say("slowly 20")
    tab.wait_for_end()
    tab.page.reload()
    tab.wait_for_end()
    assert len(tab.words()) == 20
    assert "mill-key" not in tab.page.evaluate("JSON.stringify(localStorage)")


def test_a_server_that_is_killed_in_mid_stream_and_started_again(mortal_chat, new_tab):
    tab = new_tab(url=mortal_chat.url).open()
    tab.page.set_default_timeout(40_000)  # a dead process is given up after some seconds
    tab.say("slowly 120")
    tab.wait_for_word("w10")
    mortal_chat.drop()
    tab.page.get_by_text("Connection lost.").wait_for()
    mortal_chat.back()
    tab.page.get_by_text("Connected again.").wait_for()
    tab.wait_for_end()
    assert tab.words() == WORDS
    assert tab.page.locator(".bubble").all_inner_texts() == ["slowly 120"]

    # A call that was under way may have had its effect: a person says what became of it.
    tab.say("grind 60")
    tab.page.get_by_text("sack 1 is flour").wait_for()
    mortal_chat.drop()
    mortal_chat.back()
    tab.button("It ran: give its result").click()
    tab.shoot("in-doubt")
    tab.page.get_by_label("What the call gave").fill("sixty sacks of flour")
    tab.button("Give the value").click()
    tab.wait_for_end(2)
    assert "Done: sixty sacks of flour" in tab.thread.inner_text()
    assert tab.said == []
