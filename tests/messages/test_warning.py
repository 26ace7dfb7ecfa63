"""Warnings: a code, a place, and a detail that can always be written."""

from __future__ import annotations

import pytest

from headrace._json import dumps
from headrace.messages.warning import CODES, Warning  # noqa: A004 - the field's word


def test_a_warning_says_what_and_where():
    warning = Warning("lenient_json", event=3, offset=120, part=1, detail="a trailing comma")
    assert dumps(warning) == b'{"code":"lenient_json","event":3,"offset":120,"part":1,"detail":"a trailing comma"}'
    assert dumps(Warning("invalid_utf8")) == b'{"code":"invalid_utf8"}'


def test_a_detail_that_quotes_broken_text_can_be_written():
    assert Warning("invalid_utf8", detail="got \ud83d").detail == "got \ufffd"


def test_a_warning_cannot_be_changed():
    with pytest.raises(AttributeError):
        Warning("invalid_utf8").code = "x"


def test_codes_are_words_in_snake_case():
    assert len(CODES) == 31
    assert all(code.replace("_", "").isalnum() and code == code.lower() for code in CODES)
