"""Secrets out of texts, URLs, headers and JSON, before anybody logs, raises or stores them.

The rule of this file: redact first, cut afterwards, so that half a secret never stands at the cut. Everything runs in
time linear in the text, also on a text made to hurt. What is removed is replaced by `MARK`; doing it twice changes nothing more.

Known secrets (the caller's key) are removed wherever they stand, also in escaped form. Unknown ones are recognised by their
shape or by the name before them, so an unknown secret in free prose stays: pass what you know.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Iterable
from typing import Any, cast
from urllib.parse import quote, unquote

MARK = "***"
CUT_MARK = "… [cut]"
MAX_TEXT = 4096
# A shorter "secret" is a placeholder of servers without keys (`EMPTY`, `none`, `x`), and a word of other texts.
MIN_SECRET = 8

# Quantifiers are possessive or bounded, and what follows a word is looked at once: that keeps the search linear.
_NAME = (
    r"(?:(?:proxy-)?authori[sz]ation|(?:api|access|private|secret|subscription|encryption)[-_. ]?key|apikey|passw(?:or)?d|passphrase"
    r"|secret|credential|set-cookie|token(?=\\{0,8}[\"']?[ \t]{0,8}[:=]))[\w.-]{0,40}+"
)
_SCHEME = r"(?:(?:bearer|basic|digest|token|aws4-hmac-sha256)[ \t]{1,8}+){0,3}+"
_TEXT = re.compile(
    # name: value, name=value, "name": "value", and the same inside JSON strings, where the quotes carry backslashes.
    rf"(?P<name>{_NAME}(?:\\{{0,8}}[\"'])?\s{{0,8}}+[:=]\s{{0,8}}+)"
    rf"(?:(?P<quote>\\{{0,8}}[\"'])(?:(?P<quoted>.*?)(?<!\\)(?P<close>(?P=quote))|.*+)|(?!null\b|true\b|false\b){_SCHEME}[^\s,;&\"'<>{{}}\[\]\\]++)"
    rf"|\bbearer[ \t]{{1,8}}+(?P<bearer>{_SCHEME}[\w.~+/=-]{{6,}}+)"
    # Keys by their shape: prefixes of keys (with a digit near, as words begin like that too), and JSON Web Tokens.
    r"|(?<![A-Za-z0-9])(?P<shape>sk-[\w-]{6,}+|(?:sk|gsk|rk|pk|xai|pplx|nvapi|csk|hf|gh[a-z]|github_pat|r8|fw|tgp|xox[a-z])[-_](?=[\w-]{0,40}\d)[\w-]{6,}+"
    r"|AIza[\w-]{16,}+|A(?:KI|SI)A[A-Z0-9]{12,}+|eyJ[\w-]{8,}+\.[\w-]{8,}+(?:\.[\w-]*+)?)"
    r"|(?<=://)(?P<user>[^\s/?#\"'<>\\]*)@"
    r"|(?<=[?&;])(?P<query>(?:key|auth|code|sig|signature|session|x-(?:amz|goog|oss)-[\w-]{1,40}+)=)[^\s&#\"'<>\\]++",
    re.IGNORECASE | re.DOTALL,
)
_SECRET_HEADER = re.compile(r"auth|key|secret|passw|credential|cookie|signature|token(?!s)", re.IGNORECASE)
_SECRET_FIELD = re.compile(
    r"authori[sz]ation|(?:api|access|private|secret|subscription)[-_. ]?key|passw(?:or)?d|passphrase|secret|credential|token$",
    re.IGNORECASE,
)


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """The text without secrets.

    Args:
        text: any text: an error's body, a message, a URL in a sentence.
        secrets: what is known to be secret, such as the key of this request; those shorter than `MIN_SECRET` are left.
    """
    known = _known(secrets)
    if known is not None:
        text = known.sub(MARK, text)
    return _TEXT.sub(_marked, text)


def cut(text: str, limit: int = MAX_TEXT) -> str:
    """At most `limit` characters of a text, the mark of the cut included. Redact before."""
    if len(text) <= limit:
        return text
    kept = max(0, limit - len(CUT_MARK))
    return (text[:kept] + CUT_MARK)[: max(0, limit)]


def redact_url(url: str, secrets: Iterable[str] = ()) -> str:
    """A URL without its user, password and secret query values."""
    return redact(url, secrets)


def redact_headers(headers: Iterable[tuple[str, str]], secrets: Iterable[str] = ()) -> tuple[tuple[str, str], ...]:
    """Headers in order; the values of those whose name smells of a secret are replaced as a whole."""
    secrets = tuple(secrets)
    return tuple((name, MARK if _SECRET_HEADER.search(name) else redact(value, secrets)) for name, value in headers)


def redact_json(value: Any, secrets: Iterable[str] = ()) -> Any:
    """A copy of a JSON value: strings in fields with a secret's name are replaced, all other content is kept.

    Known secrets are removed from every string, keys of objects included. Free text is not searched for shapes: a recording must
    keep what was said. The depth is that of the value, and so is the depth of the recursion.
    """
    return _walk(value, _known(secrets))


def redact_bytes(body: bytes, secrets: Iterable[str]) -> bytes:
    """Bytes of the same length, with stars in place of known secrets, so that places in a recording stay right."""
    known = _known_bytes(secrets)
    return body if known is None else known.sub(lambda found: b"*" * len(found[0]), body)


def secrets_of(url: str, headers: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """What is secret in a request: the values of its secret headers, without their scheme, and the secrets in its URL."""
    found: list[str] = []
    for name, value in headers:
        if not _SECRET_HEADER.search(name):
            continue
        scheme, _, rest = value.strip().partition(" ")
        found += [value.strip(), rest.strip()]
        if scheme.lower() == "basic":
            found += _user_and_password(rest)
    for match in _TEXT.finditer(url):
        if match["user"] is not None:
            found += unquote(match["user"]).split(":", 1)
        else:
            hidden = match[0].removeprefix(match["name"] or match["query"] or "")
            found += [hidden, unquote(hidden)]
    return tuple(secret for secret in dict.fromkeys(found) if len(secret) >= MIN_SECRET)


def longest_secret(secrets: Iterable[str]) -> int:
    """The most bytes that a known secret takes in any of its forms; 0 if there is none."""
    return max((len(form.encode(errors="surrogatepass")) for form in _forms(secrets)), default=0)


def _marked(found: re.Match[str]) -> str:
    if found["name"] is not None:
        opening = found["quote"] or ""
        return f"{found['name']}{opening}{MARK}{found['close'] or ''}"
    if found["bearer"] is not None:
        return found[0].removesuffix(found["bearer"]) + MARK
    if found["shape"] is not None:
        return MARK
    if found["user"] is not None:
        return f"{MARK}@"
    return f"{found['query']}{MARK}"


def _forms(secrets: Iterable[str]) -> list[str]:
    """Each secret as it is, as in a URL and as in a JSON string; longest first, so that no rest of one stays."""
    forms: set[str] = set()
    for secret in secrets:
        if len(secret) >= MIN_SECRET:
            forms |= {
                secret,
                quote(secret, safe="", errors="replace"),
                json.dumps(secret)[1:-1],
                json.dumps(secret, ensure_ascii=False)[1:-1],
            }
    return sorted(forms, key=lambda form: (-len(form), form))


def _known(secrets: Iterable[str]) -> re.Pattern[str] | None:
    forms = _forms(secrets)
    return re.compile("|".join(map(re.escape, forms))) if forms else None


def _known_bytes(secrets: Iterable[str]) -> re.Pattern[bytes] | None:
    forms = _forms(secrets)
    return re.compile(b"|".join(re.escape(form.encode(errors="surrogatepass")) for form in forms)) if forms else None


def _walk(value: Any, known: re.Pattern[str] | None) -> Any:
    if isinstance(value, str):
        return value if known is None else known.sub(MARK, value)
    if isinstance(value, list):
        return [_walk(item, known) for item in cast("Iterable[Any]", value)]
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {_walk(name, known): MARK if _is_secret_field(name, item) else _walk(item, known) for name, item in fields.items()}
    return value


def _is_secret_field(name: str, value: Any) -> bool:
    return isinstance(value, str) and _SECRET_FIELD.search(name) is not None


def _user_and_password(encoded: str) -> list[str]:
    """The two halves of a Basic header; nothing if it is not one."""
    try:
        return b64decode(encoded, validate=True).decode().split(":", 1)
    except ValueError:
        return []
