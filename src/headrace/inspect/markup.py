"""Pieces of HTML that are safe by construction, and the shell of a page.

The rule of this file: text becomes markup only here, escaped; styles and scripts are files of this package, named by their digests in the page's own
policy, so nothing that a peer sent can ever run, and nothing is fetched from anywhere.
"""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from html import escape
from importlib import resources
from typing import Final

_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{body}
<script>{script}</script>
</body>
</html>
"""


class Markup(str):
    """HTML that is safe to put into a page."""

    __slots__ = ()


def element(name: str, *content: str | Markup, **attributes: str | int | bool | None) -> Markup:
    """Return an element; text in it is escaped, markup is taken as it is.

    Args:
        name: the tag.
        content: what stands inside.
        attributes: a trailing underscore is dropped and others become hyphens; None and False leave one out, True writes it bare.
    """
    return Markup(f"<{name}{_attributes(attributes)}>{join(*content)}</{name}>")


def void(name: str, **attributes: str | int | bool | None) -> Markup:
    """Return an element without content, such as a line of a drawing."""
    return Markup(f"<{name}{_attributes(attributes)}/>")


def join(*content: str | Markup) -> Markup:
    """Return pieces behind each other; text is escaped."""
    return Markup("".join(piece if isinstance(piece, Markup) else escape(piece) for piece in content))


def page(
    *,
    title: str,
    body: Markup,
    style: str,
    script: str,
    policy: str = "",
    more_styles: tuple[str, ...] = (),
    more_scripts: tuple[str, ...] = (),
) -> str:
    """Return a whole page that fetches nothing.

    Args:
        title: its title.
        body: what it shows.
        style: the text of its styles.
        script: the text of its script.
        policy: more directives of its policy.
        more_styles: styles that documents inside of it may have.
        more_scripts: scripts that documents inside of it may run.
    """
    scripts = " ".join(_digest(text) for text in (script, *more_scripts))
    styles = " ".join(_digest(text) for text in (style, *more_styles))
    own = f"default-src 'none'; base-uri 'none'; form-action 'none'; style-src {styles}; script-src {scripts}"
    return _PAGE.format(policy=escape(f"{own}; {policy}" if policy else own), title=escape(title), style=style, body=body, script=script)


@lru_cache
def asset(name: str) -> str:
    """Return the text of a file of this package."""
    return resources.files("headrace.inspect").joinpath(name).read_text(encoding="utf-8").strip()


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _attributes(attributes: dict[str, str | int | bool | None]) -> str:
    words: list[str] = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        name = key.rstrip("_").replace("_", "-")
        words.append(f" {name}" if value is True else f' {name}="{escape(str(value))}"')
    return "".join(words)
