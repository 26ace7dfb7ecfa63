"""Signatures are the SDK's own, and nothing passes that was not signed as it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace._json import dumps, loads
from headrace.surfaces.vercel.signature import _canonical, is_signed, sign

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | st.text("aä\n😀"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab😀\uff5e", max_size=2), inner, max_size=3),
)


def held(**fields):
    return {"approval_id": "ap", "call_id": "m/1", "name": "pay", "arguments": {"to": "Ada"}, **fields}


def test_it_is_what_the_sdk_makes():
    arguments = {"z": 1.0, "a": [True, None, "ü\n😀"], "é": 1e-7, "b": {"y": 2.5, "x": -0.0}, "😀": 1, "\uff5e": 2}
    assert sign(b"s3cret", **held(arguments=arguments)) == "lqlmUTBPeaETVhqUX5uLFMj_At9pl6b4sRpK9j7yik4"  # by its own functions


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"), (-0.0, "0"), (1e-7, "1e-7"), (1e-6, "0.000001"), (1.5e-5, "0.000015"), (1e16, "10000000000000000"), (1e21, "1e+21"),
        (-2.5, "-2.5"), (1.25e30, "1.25e+30"), (123.456, "123.456"), (2**60, "1152921504606847000"), (True, "true"), (0, "0"),
    ],
)  # fmt: skip
def test_numbers_are_written_as_in_javascript(value, text):
    assert _canonical(value) == text


@given(JSON)
def test_arguments_that_went_through_json_are_signed_as_before(value):
    signature = sign(b"k", **held(arguments=value))
    assert is_signed(b"k", signature, **held(arguments=loads(dumps(value))))


@pytest.mark.parametrize(
    "changed", [{"approval_id": "b"}, {"call_id": "m/2"}, {"name": "pay "}, {"arguments": {"to": "Bob"}}, {"arguments": {}}]
)
def test_it_is_bound_to_everything(changed):
    signature = sign(b"k", **held())
    assert is_signed(b"k", signature, **held())
    assert not is_signed(b"k", signature, **held(**changed))
    assert not is_signed(b"other", signature, **held())
    for wrong in (None, "", "x", signature[:-1], signature + "=", "\ud800"):
        assert not is_signed(b"k", wrong, **held())
