"""AWS signatures (SigV4), for providers whose key signs a request instead of travelling with it.

The rule of this file: the time comes in, so equal requests get equal signatures; the signer is botocore's, of which only public methods
are used; no secret is in what comes out but the session token, which has to travel.

Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from headrace.errors import ConfigError, MissingExtraError
from headrace.providers.secret import Secret

KEY_VARIABLES: Final = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
TOKEN_VARIABLE: Final = "AWS_SESSION_TOKEN"
REGION_VARIABLES: Final = ("AWS_REGION", "AWS_DEFAULT_REGION")
_ALGORITHM: Final = "AWS4-HMAC-SHA256"
_TIME: Final = "%Y%m%dT%H%M%SZ"
_REGION: Final = re.compile(r"[a-z0-9-]{1,40}")
_VALUE: Final = re.compile(r"[\x21-\x7e]+")


class Signing(msgspec.Struct, frozen=True, kw_only=True):
    """With what a request is signed.

    Attributes:
        key_id: the access key's id.
        secret: the secret key.
        token: the session's token, where the key is a temporary one.
        region, service: what the signature holds for.
    """

    key_id: str
    secret: Secret
    region: str
    service: str
    token: Secret | None = None


def region_of(environ: Mapping[str, str]) -> str | None:
    """Return the region that the environment names, or None.

    Raises:
        ConfigError: it is no region's name, so it could become another host.
    """
    for variable in REGION_VARIABLES:
        region = environ.get(variable, "").strip()
        if region and not _REGION.fullmatch(region):
            raise ConfigError(f"{variable} is no name of a region, such as us-east-1", argument=variable)
        if region:
            return region
    return None


def signing_of(environ: Mapping[str, str], *, region: str, service: str) -> Signing | None:
    """Return what the environment gives to sign with, or None if a part of it is missing.

    Raises:
        ConfigError: a part of it holds characters that no header can carry.
    """
    values = [environ.get(variable, "").strip() for variable in (*KEY_VARIABLES, TOKEN_VARIABLE)]
    for variable, value in zip((*KEY_VARIABLES, TOKEN_VARIABLE), values, strict=True):
        if value and not _VALUE.fullmatch(value):
            raise ConfigError(f"{variable} holds characters that no header can carry", argument=variable)
    key_id, secret, token = values
    if not key_id or not secret:
        return None
    return Signing(key_id=key_id, secret=Secret(secret), token=Secret(token) if token else None, region=region, service=service)


def sign(
    method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes, signing: Signing, *, now: datetime
) -> tuple[tuple[str, str], ...]:
    """Return the headers of a request with its signature among them.

    Args:
        method: the HTTP method.
        url: the whole address.
        headers: what is sent beside; all of it is signed.
        body: the bytes of the body.
        signing: the key.
        now: the time, with its zone; servers refuse one that is minutes off.

    Raises:
        MissingExtraError: botocore is not installed.
    """
    try:
        auth, awsrequest, credentials = _botocore()
    except ImportError as error:
        raise MissingExtraError("bedrock", feature="signing a request for AWS", module="botocore") from error
    time = now.astimezone(UTC).strftime(_TIME)
    own = [("x-amz-date", time)]
    if signing.token is not None:
        own.append(("x-amz-security-token", signing.token.reveal()))
    signed = [(name, value) for name, value in headers if name.lower() not in ("authorization", *dict(own))] + own
    request = awsrequest.AWSRequest(method=method, url=url, headers=dict(signed), data=body)
    request.context["timestamp"] = time
    signer = auth.SigV4Auth(credentials.Credentials(signing.key_id, signing.secret.reveal()), signing.service, signing.region)
    canonical = signer.canonical_request(request)
    signature = signer.signature(signer.string_to_sign(request, canonical), request)
    names = signer.signed_headers(signer.headers_to_sign(request))
    proof = f"{_ALGORITHM} Credential={signer.scope(request)}, SignedHeaders={names}, Signature={signature}"
    return (*signed, ("authorization", proof))


def _botocore() -> tuple[Any, Any, Any]:
    """Return the modules of the signer; they come with an extra and have no types."""
    names = ("botocore.auth", "botocore.awsrequest", "botocore.credentials")
    auth, awsrequest, credentials = (importlib.import_module(name) for name in names)
    return auth, awsrequest, credentials
