"""The report: for people, and as JSON."""

from __future__ import annotations

import json

from doctor_ground import QUICK, called, probe, refusal, said
from headrace._json import dumps
from headrace.inspect.doctor.ask import Examination
from headrace.inspect.doctor.endpoint import Bounds, Endpoint
from headrace.inspect.doctor.report import counts_of, document_of, finding_line, text_report
from servers import free_port, scripted_server

ONE_BY_ONE = Bounds(side_by_side=1)
NAMES = ("text", "named_tool", "two_answers", "stop")


async def run(folder):
    """An examination with a finding of each level."""
    replies = [said("Hello."), called(), refusal(message="n must be\n\x1b[31m1"), said("one"), said("one"), said("one")]
    async with scripted_server(replies) as server:
        examination = Examination(
            Endpoint(base_url=f"{server.url}/v1", model="m"),
            [probe(name) for name in NAMES],
            folder=folder,
            timeouts=QUICK,
            bounds=ONE_BY_ONE,
        )
        await examination.run()
    return examination


def text_of(words):
    return "".join(word.text for word in words)


async def test_what_is_wrong_comes_first_with_the_recording_that_shows_it(tmp_path):
    examination = await run(tmp_path)
    text = text_of(text_report(examination))
    titles = [line for line in text.splitlines() if line.endswith(")") and not line.startswith((" ", "profile"))]
    assert titles == ["wrong (1)", "not supported (1)", "unclear (1)", "right (2)"]
    assert str(tmp_path / "named_tool/against-the-question/0001.body") in text
    assert "6 requests, 54 tokens in, 25 out" in text or "6 requests, 45 tokens in, 25 out" in text
    assert "profile: tool_choices, unsupported_settings" in text
    assert all(len(line) <= 118 or str(tmp_path) in line for line in text.splitlines())


async def test_what_a_server_says_stays_on_its_lines(tmp_path):
    lines = text_of(text_report(await run(tmp_path))).splitlines()
    [said_no] = [n for n, line in enumerate(lines) if "n must be" in line]
    assert lines[said_no].startswith(" " * 24)
    assert "31m1" in " ".join(lines[said_no : said_no + 2])


async def test_as_json_it_is_the_same(tmp_path):
    examination = await run(tmp_path)
    document = json.loads(dumps(document_of(examination)))
    assert document["counts"] == {"wrong": 1, "unsupported": 1, "unclear": 1, "right": 2}
    assert [found["level"] for found in document["findings"]] == ["right", "wrong", "unsupported", "unclear", "right"]
    assert document["profile"] == {"tool_choices": ["auto", "none", "required"], "unsupported_settings": ["n"]}
    assert (document["requests"], document["is_reachable"], document["not_finished"]) == (6, True, [])
    named = document["findings"][1]
    assert set(named) == {"probe", "level", "what", "detail", "switches", "evidence"}


async def test_nobody_there_is_said_plainly(tmp_path):
    endpoint = Endpoint(base_url=f"http://127.0.0.1:{free_port()}/v1", model="m")
    examination = Examination(endpoint, [probe(name) for name in NAMES], folder=tmp_path, timeouts=QUICK)
    before = text_of(text_report(examination))
    await examination.run()
    after = text_of(text_report(examination))
    assert "not finished: text, named_tool, two_answers, stop" in before
    assert "Nothing else was asked: nobody answers there." in after
    assert not document_of(examination)["is_reachable"]


async def test_whoever_watches_sees_each_finding_in_a_line(tmp_path):
    lines = [text_of(finding_line(found)) for found in (await run(tmp_path)).findings]
    assert lines[1] == "wrong         named_tool            A tool that is named in tool_choice is not called: another one was\n"
    assert counts_of(()) == {"wrong": 0, "unsupported": 0, "unclear": 0, "right": 0}
