"""Whatever the history, the body is one that the server accepts (law 7), and always the same bytes."""

import json

from hypothesis import given
from hypothesis import strategies as st

from gemini_histories import HISTORIES
from headrace.errors import UsageError
from headrace.messages.request import Request
from headrace.wire.encoding_cache import EncodingCache
from headrace.wire.gemini.request_out import encode_request
from headrace.wire.profile import Profile

PROFILES = st.builds(
    Profile,
    provider=st.just("acme"),
    reasoning_style=st.sampled_from(["none", "parts"]),
    takes_foreign_reasoning=st.booleans(),
    supports_images_in_results=st.booleans(),
    supports_images=st.booleans(),
    sends_provider_data=st.booleans(),
    unsigned_call=st.sampled_from([None, "skip"]),
    tool_name_pattern=st.sampled_from([None, "[A-Za-z0-9_-]"]),
)


def encode(messages, profile, **options):
    """The encoded request, or None if nothing of the history can be sent."""
    try:
        return encode_request(Request(model="m", messages=tuple(messages)), profile, **options)
    except UsageError as error:
        if error.argument != "messages":
            raise
        return None


@given(HISTORIES, PROFILES)
def test_roles_alternate_and_every_call_has_its_result_directly_behind_it(history, profile):
    encoded = encode(history, profile)
    if encoded is None:
        return
    contents = json.loads(encoded.body)["contents"]
    assert [one["role"] for one in contents] == ["user" if n % 2 == 0 else "model" for n in range(len(contents))]
    ids = [part["functionCall"]["id"] for one in contents for part in one["parts"] if "id" in part.get("functionCall", {})]
    assert len(ids) == len(set(ids))
    for n, content in enumerate(contents):
        assert content["parts"]
        calls = [(part["functionCall"].get("id"), part["functionCall"]["name"]) for part in content["parts"] if "functionCall" in part]
        responses = [
            (part["functionResponse"].get("id"), part["functionResponse"]["name"])
            for part in content["parts"]
            if "functionResponse" in part
        ]
        before = contents[n - 1]["parts"] if n else []
        assert responses == [(part["functionCall"].get("id"), part["functionCall"]["name"]) for part in before if "functionCall" in part]
        assert not calls or n + 1 < len(contents)
        assert all(isinstance(part["functionCall"]["args"], dict) for part in content["parts"] if "functionCall" in part)


@given(HISTORIES, PROFILES)
def test_with_and_without_a_cache_it_is_the_same(history, profile):
    cache = EncodingCache()
    first = encode(history, profile, cache=cache)
    assert encode(history, profile, cache=cache) == first == encode(history, profile)


@given(HISTORIES, PROFILES, st.integers(0, 9))
def test_a_history_that_grows_keeps_the_form_of_its_beginning(history, profile, size):
    short, long = encode(history[:size], profile), encode(history, profile)
    if short is None or long is None:
        return
    before, after = (json.loads(one.body)["contents"] for one in (short, long))
    assert [one["role"] for one in after[: len(before)]] == [one["role"] for one in before]
