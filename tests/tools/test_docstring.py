"""Docstrings in three styles, recognised by themselves."""

from __future__ import annotations

import logging

import pytest

from headrace.tools.docstring import Docstring, read

GOOGLE = """Look up the weather.

It may rain.

Args:
    city: The city,
        or a village.
    days (int): How many days.

Returns:
    A sentence.

Raises:
    ValueError: no such city.
"""
NUMPY = """Look up the weather.

It may rain.

Parameters
----------
city
    The city,
    or a village.
days : int
    How many days.

Returns
-------
str
    A sentence.
"""
SPHINX = """Look up the weather.

It may rain.

:param city: The city,
    or a village.
:param int days: How many days.
:returns: A sentence.
:raises ValueError: no such city.
"""


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_every_style_gives_the_description_and_the_parameters(text):
    found = read(text)
    assert found.description == "Look up the weather.\n\nIt may rain."
    assert {name: " ".join(value.split()) for name, value in found.parameters.items()} == {
        "city": "The city, or a village.",
        "days": "How many days.",
    }


def test_notes_for_the_reader_stay_in_the_description():
    assert read("Delete a file.\n\nWarning:\n    It is gone for good.").description == "Delete a file.\n\nWarning: It is gone for good."


@pytest.mark.parametrize("text", ["", "One line.", "Two lines:\nthe second.", "A list:\n\n- a: b\n- c"])
def test_a_text_in_no_style_is_all_description(text):
    assert read(text) == Docstring(text)


def test_nothing_is_logged_about_a_docstring_without_types(caplog):
    caplog.set_level(logging.DEBUG)
    for text in (GOOGLE, NUMPY, SPHINX, "Do it.\n\nArgs:\n    nonsense without a colon\n"):
        read(text)
    assert caplog.records == []
