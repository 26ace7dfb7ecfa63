"""What a person is asked: yes, yes with other arguments, always, no, values from outside, calls in doubt; also inside of a sub-agent."""

from __future__ import annotations


def ask(desk, text):
    desk.say(text)
    desk.page.locator(".question .buttons").first.wait_for()


def test_yes(desk):
    ask(desk, "pay Ada 30")
    assert desk.state("pay") == "waits for your yes"
    desk.page.wait_for_function("document.title.startsWith('● ')")  # it follows what is drawn
    desk.button("Approve").click()
    desk.wait_for_end()
    assert "Done: paid 30 euros to Ada" in desk.thread.inner_text()


def test_yes_with_other_arguments(desk):
    ask(desk, "pay Ada 30")
    desk.button("Edit…").click()
    box = desk.page.get_by_label("Arguments (JSON)")
    assert '"euros": 30' in box.input_value()
    box.fill('{"to": "Ada", ')
    assert desk.button("Approve with these").is_disabled()
    assert "no JSON yet" in desk.page.locator(".question .wrong").inner_text()
    box.fill("[]")
    assert "must be an object" in desk.page.locator(".question .wrong").inner_text()
    box.fill('{"to": "Ada", "euros": 3}')
    desk.shoot("approval")
    desk.button("Approve with these").click()
    desk.wait_for_end()
    assert "paid 3 euros to Ada" in desk.thread.inner_text()
    assert desk.page.locator(".card .tag").inner_text() == "edited"


def test_arguments_that_do_not_fit_the_tool_are_refused_and_asked_about_again(desk):
    ask(desk, "pay Ada 30")
    desk.button("Edit…").click()
    desk.page.get_by_label("Arguments (JSON)").fill('{"to": "Ada", "euros": "many"}')
    desk.button("Approve with these").click()
    # The server says no, or the run says so itself and asks once more: either way a yes is still possible.
    desk.button("Approve").wait_for()


def test_always(desk):
    ask(desk, "pays Ada Bob")
    assert desk.page.get_by_text("2 calls wait for your yes.").is_visible()
    desk.button("Always…").first.click()
    desk.page.get_by_role("button", name="every call of pay").click()
    desk.wait_for_end()  # the rule answers for the other call too
    assert desk.page.locator(".question").count() == 0
    assert "paid 1 euros to Ada" in desk.thread.inner_text()
    assert "paid 2 euros to Bob" in desk.thread.inner_text()


def test_several_at_once(desk):
    ask(desk, "pays Ada Bob Cyd")
    desk.button("Approve all 3").click()
    desk.wait_for_end()
    assert "paid 3 euros to Cyd" in desk.thread.inner_text()


def test_no_with_a_reason(desk):
    ask(desk, "pay Ada 30")
    desk.button("Deny…").click()
    desk.page.keyboard.type("too much")
    desk.button("Deny").click()
    desk.wait_for_end()
    assert desk.state("pay") == "denied"
    desk.page.locator(".card summary").click()
    assert "Denied: too much" in desk.page.locator(".card").inner_text()


def test_escape_closes_the_form_and_does_not_stop_the_run(desk):
    ask(desk, "pay Ada 30")
    desk.button("Edit…").click()
    desk.page.keyboard.press("Escape")
    assert desk.page.locator(".question form").count() == 0
    assert desk.page.evaluate("document.activeElement.textContent") == "Edit…"
    desk.page.keyboard.press("Escape")
    desk.button("Approve").click()
    desk.wait_for_end()


def test_a_run_that_waits_can_be_given_up(desk):
    ask(desk, "pay Ada 30")
    desk.button("Stop: give the run up").click()
    desk.wait_for_end()
    assert desk.state("pay") == "interrupted"
    desk.say("hello")
    desk.wait_for_end(2)


def test_a_value_from_outside(desk):
    ask(desk, "temperature")
    desk.page.get_by_label("What temperature gives").fill('{"wall": 21.5}')
    desk.button("Give the value").click()
    desk.wait_for_end()
    desk.page.locator(".card summary").click()
    assert '"wall": 21.5' in desk.page.locator(".card").inner_text()


def test_an_error_from_outside(desk):
    ask(desk, "temperature")
    desk.button("Report an error…").click()
    desk.page.get_by_label("What went wrong").fill("the thermometer is gone")
    desk.button("Report the error").click()
    desk.wait_for_end()
    assert desk.state("temperature") == "failed"
    assert "the thermometer is gone" in desk.page.locator(".card").inner_text()


def test_a_question_from_inside_stands_inside_and_is_answered_there(desk):
    ask(desk, "delegate")
    assert desk.page.locator(".card .inner .card .question").count() == 1
    assert desk.page.locator(".question").count() == 1
    desk.shoot("inside")
    desk.button("Approve").click()
    desk.wait_for_end()
    assert desk.state("clerk").startswith("done")
    assert "paid 3 euros to Ada" in desk.thread.inner_text()
