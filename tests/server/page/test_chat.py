"""Talking: send, stream, stop, steer, tools, reasoning, sessions; what comes from a model is never run."""

from __future__ import annotations

import re


def test_an_answer_streams_in_order_and_the_box_is_free_again(desk):
    desk.say("slowly 150")
    desk.wait_for_word("w5")
    assert desk.button("Stop").is_visible()
    desk.wait_for_end()
    assert desk.words() == [f"w{n}" for n in range(1, 151)]
    assert desk.page.locator(".foot").inner_text().startswith("1,200 in · 150 out")
    assert desk.page.evaluate("document.activeElement.id") == "message"
    assert not desk.button("Stop").is_visible()


def test_markdown_becomes_elements(desk):
    desk.say("tour")
    desk.wait_for_end()
    prose = desk.page.locator(".prose").last
    assert prose.locator("table tbody tr").count() == 3
    assert "return efficiency * 1000" in prose.locator("figure.code pre").inner_text()
    assert prose.locator("ol > li > ul > li").count() == 2
    link = prose.get_by_role("link", name="the handbook")
    assert (link.get_attribute("rel"), link.get_attribute("target")) == ("noopener noreferrer", "_blank")
    desk.page.locator(".reasoning summary").click()
    assert "begin with the head" in desk.page.locator(".reasoning .prose").inner_text()
    desk.shoot("tour")


def test_reasoning_is_seen_while_it_comes(desk):
    desk.say("ponder 1000")
    desk.page.locator(".reasoning.live").wait_for()
    desk.button("Stop").click()
    desk.wait_for_end()
    assert desk.page.locator(".reasoning.live").count() == 0
    desk.page.locator(".reasoning summary").click()
    assert desk.page.locator(".reasoning .prose").inner_text().startswith("hm hm")


def test_what_a_model_writes_is_never_run_and_fetches_nothing(desk):
    desk.say("nasty")
    desk.wait_for_end()
    prose = desk.page.locator(".prose").last
    assert desk.page.evaluate("window.bad") is None
    assert prose.locator("script, img, iframe, b, [onclick]").count() == 0
    assert [link.get_attribute("href") for link in prose.get_by_role("link").all()] == ["https://elsewhere.example/pixel.png"]
    assert "<script>window.bad = 1</script>" in prose.inner_text()
    assert "<b> & done" in prose.inner_text()


def test_a_run_is_stopped_by_escape_and_by_the_button(desk):
    desk.say("slowly 2000")
    desk.wait_for_word("w4")
    desk.page.keyboard.press("Escape")
    desk.wait_for_end(1)
    assert desk.page.get_by_text("Stopped.").is_visible()
    desk.say("slowly 2000")
    desk.wait_for_word("w4")
    desk.button("Stop").click()
    desk.wait_for_end(2)
    assert desk.words()[:4] == ["w1", "w2", "w3", "w4"]


def test_words_said_meanwhile_are_heard_before_the_next_step(desk):
    desk.say("grind 20")
    desk.page.get_by_text("sack 1 is flour").wait_for()
    desk.say("and be quick")
    desk.page.get_by_text("read before the next step").wait_for()
    desk.wait_for_end()
    assert desk.page.get_by_text("read before the next step").count() == 0
    assert desk.page.get_by_text("said while it ran").count() == 1
    assert "You said: and be quick" in desk.thread.inner_text()


def test_words_that_come_too_late_are_back_in_the_box(desk):
    desk.say("slowly 30")
    desk.wait_for_word("w3")
    desk.say("too late")
    desk.wait_for_end()
    if desk.page.get_by_text("said while it ran").count() == 0:  # the run may have heard them
        desk.page.get_by_text(re.compile("back in the box")).wait_for()
        assert desk.box.input_value() == "too late"


def test_tools_show_how_they_stand_and_what_they_give(desk):
    desk.say("tools")
    desk.wait_for_end()
    assert (desk.state("search")[:4], desk.state("chart")[:4], desk.state("weigh")[:6]) == ("done", "done", "failed")
    image = desk.page.locator(".card img")
    assert image.evaluate("(image) => image.complete && image.naturalWidth") == 320
    assert "the scales are broken" in desk.page.locator(".card.is-error").inner_text()
    desk.page.locator(".card summary", has_text="chart").click()
    assert '"bars": 8' in desk.page.locator(".card", has_text="chart").inner_text()
    desk.shoot("tools")


def test_progress_and_output_are_seen_while_a_tool_runs(desk):
    desk.say("grind 20")
    desk.page.get_by_text("sack 2 is flour").wait_for()
    assert desk.state("grind") == "running"
    assert desk.page.locator(".card progress").get_attribute("max") == "20"
    desk.wait_for_end()
    assert desk.state("grind").startswith("done")


def test_a_discarded_attempt_leaves_no_trace_but_a_note(desk):
    desk.say("discard")
    desk.wait_for_end()
    assert "this is void" not in desk.thread.inner_text()
    assert desk.page.locator(".prose").inner_text() == "This counts."
    assert desk.page.get_by_text("it was asked again").is_visible()


def test_a_failure_says_what_to_do_and_can_be_tried_again(desk):
    desk.say("fail")
    failure = desk.page.get_by_role("group", name="Error")
    failure.wait_for()
    assert "the model has too much to do" in failure.inner_text()
    assert "Try again in a while." in failure.inner_text()
    desk.wait_for_end(1)
    desk.button("Try again").click()
    desk.wait_for_end(2)
    assert desk.page.locator(".bubble").all_inner_texts() == ["fail", "fail"]


def test_a_long_answer_stays_in_view_unless_the_reader_goes_up(desk):
    desk.say("long 12")
    desk.wait_for_end()
    rest = "(one) => one.scrollHeight - one.scrollTop - one.clientHeight"
    assert desk.thread.evaluate(rest) < 5
    desk.thread.evaluate("(one) => { one.scrollTop = 0; }")
    desk.button("Go to the end").click()
    assert desk.thread.evaluate(rest) < 5
    desk.say("slowly 200")
    desk.wait_for_word("w20")
    desk.thread.hover()
    desk.page.mouse.wheel(0, -3000)
    desk.button("Go to the end").wait_for()
    desk.wait_for_word("w40")
    assert desk.thread.evaluate(rest) > 1000
    desk.page.keyboard.press("Escape")
    desk.wait_for_end(2)


def test_an_image_is_pasted_and_sent(desk):
    desk.page.evaluate(
        """() => {
            const bytes = Uint8Array.from(atob("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="), (one) => one.charCodeAt(0));
            const data = new DataTransfer();
            data.items.add(new File([bytes], "dot.png", { type: "image/png" }));
            document.getElementById("message").dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
        }"""
    )
    desk.page.get_by_role("list", name="Images to send").get_by_role("img").wait_for()
    desk.say("look")
    desk.wait_for_end()
    assert desk.page.locator(".said img").count() == 1
    assert "You said: look" in desk.thread.inner_text()


def test_sessions_are_listed_opened_renamed_forked_and_deleted(desk):
    desk.say("hello there")
    desk.wait_for_end()
    listed = desk.page.get_by_role("navigation", name="Conversations")
    listed.get_by_role("button", name="hello there", exact=True).wait_for()
    desk.button("New chat").click()
    desk.say("second one")
    desk.wait_for_end()
    listed.get_by_role("button", name="hello there", exact=True).click()
    desk.page.locator(".prose", has_text="You said: hello there").wait_for()
    assert "second one" not in desk.thread.inner_text()

    desk.button("More about hello there").click()
    desk.button("Rename").click()
    desk.page.get_by_label("Title").fill("The first")
    desk.page.keyboard.press("Enter")
    listed.get_by_role("button", name="The first", exact=True).wait_for()

    desk.button("More about The first").click()
    desk.button("Fork").click()
    listed.get_by_role("button", name="The first (fork)", exact=True).wait_for()
    desk.page.locator(".prose", has_text="You said: hello there").wait_for()
    desk.say("only in the fork")
    desk.wait_for_end()
    assert desk.page.locator(".bubble").all_inner_texts() == ["hello there", "only in the fork"]

    desk.button("More about The first (fork)").click()
    desk.button("Delete…").click()
    desk.button("Delete it").click()
    listed.get_by_role("button", name="The first (fork)", exact=True).wait_for(state="detached")
    assert desk.page.get_by_role("heading", name="Talk to Mill").is_visible()


def test_going_back_opens_the_conversation_before(desk):
    desk.say("one")
    desk.wait_for_end()
    desk.button("New chat").click()
    desk.say("two")
    desk.wait_for_end()
    desk.page.go_back()
    desk.page.go_back()
    desk.page.locator(".bubble", has_text="one").wait_for()
    assert "two" not in desk.thread.inner_text()
