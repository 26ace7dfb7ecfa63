from __future__ import annotations

import json

from decoding_runs import decoded
from headrace.messages.parts import ProviderItem, ProviderToolPart
from messages_bytes import SAMPLES, SEARCH, body, call, delta, event, opened, result, stopped


def parts(some, **options):
    return decoded(some, protocol="anthropic-messages", **options)[1].message.parts


def item(raw):
    return ProviderItem(provider="", protocol="anthropic-messages", raw=raw)


def test_a_result_right_behind_its_call_stands_in_the_part_of_the_call():
    part = parts(SAMPLES["a search of the provider's"])[1]
    assert isinstance(part, ProviderToolPart)
    assert part.result == SEARCH["content"]
    assert part.provider_data == {"type": "server_tool_use", "result": {"type": "web_search_tool_result"}}


def test_a_result_that_stands_elsewhere_keeps_its_place_and_its_bytes():
    first, second, one, other = parts(SAMPLES["a result that stands elsewhere"])
    assert (first.id, first.result, second.id, second.result) == ("srv_1", None, "srv_2", None)
    assert json.loads(one.raw) == SEARCH
    assert json.loads(other.raw) == {**SEARCH, "tool_use_id": "srv_2"}


def test_a_result_without_content_or_of_another_call_is_kept_whole():
    nothing = opened(1, "web_search_tool_result", tool_use_id="srv_1", content=None) + stopped(1)
    for behind in (nothing, result(1, tool_use_id="srv_9"), result(1, tool_use_id="")):
        some = body(call(0, "web_search", "{}", id="srv_1", kind="server_tool_use"), behind)
        assert [type(part) for part in parts(some)] == [ProviderToolPart, ProviderItem]


def test_blocks_that_nobody_knows_are_the_bytes_that_came():
    compaction, upload, new, _ = parts(SAMPLES["blocks that nobody knows"])
    assert compaction == item(b'{"type":"compaction","content":"So far.","encrypted_content":"ee"}')
    assert upload == item(b'{"type":"container_upload","file_id":"file_1"}')
    assert new == item(b'{"type":"new","n":[1.0,2],"x":{"y":null}}')


def test_texts_of_their_deltas_are_joined_and_of_anything_else_the_last_value_counts():
    some = opened(0, "new", a="x", b=[1]) + delta(0, "d", a="y", b=[2], c="p") + delta(0, "d", a="z", c=3, e=None) + delta(0, "d", c="q")
    assert parts(body(some)) == (item(b'{"type":"new","a":"xyz","b":[2],"c":"q"}'),)


def test_one_that_grows_after_its_end_is_given_again_whole():
    some = opened(0, "new", a="x") + stopped(0) + delta(0, "d", a="y") + stopped(0)
    assert parts(body(some)) == (item(b'{"type":"new","a":"xy"}'),)


def test_bytes_that_could_not_be_sent_back_are_written_anew():
    raw = event({"type": "content_block_start", "index": 0, "content_block": {"type": "new", "a": "\ud83d"}})
    assert parts(body(raw)) == (item('{"type":"new","a":"\ufffd"}'.encode()),)


def test_whose_they_are_is_kept_if_it_is_known():
    assert parts(body(opened(0, "new")), provider="mill")[0].provider == "mill"
