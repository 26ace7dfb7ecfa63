"""The kinds of text that a wire gives in pieces, and a piece of one.

The rule of this file: words only, so that every filter can say what it gives without knowing the others.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["text", "reasoning", "refusal"]
Piece: TypeAlias = tuple[Kind, str]
