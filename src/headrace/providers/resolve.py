"""From a model's id to where it is: `deepseek:deepseek-chat` → an `Endpoint`.

The rule of this file: what the caller says wins over the environment, that over the user's config, and that over the catalogue; an id
that names a protocol takes the caller's arguments only. The environment comes in as an argument. No key and no password of an address
stands in an error.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from headrace.errors import ConfigError, UnsupportedError
from headrace.providers.catalogue import AT_ANY_ADDRESS, PROTOCOLS
from headrace.providers.config import EMPTY_CONFIG, Config
from headrace.providers.names import normalise_base_url, split_name
from headrace.providers.record import Endpoint, Provider
from headrace.providers.secret import Secret
from headrace.providers.signing import KEY_VARIABLES, REGION_VARIABLES, Signing, region_of, signing_of
from headrace.wire.profile import DEFAULT, Profile

_SEPARATOR: Final = re.compile("[:/]")
_REGION: Final = "{region}"


def resolve(
    model_id: str,
    *,
    base_url: str | None = None,
    api_key: str | Secret | None = None,
    environ: Mapping[str, str],
    profile: Profile | Mapping[str, Any] | None = None,
    config: Config = EMPTY_CONFIG,
    protocol: str | None = None,
) -> Endpoint:
    """Say where a model is and how to talk to it.

    Args:
        model_id: `provider:model` or `provider/model`; split at the first `:` or `/` whose left side is a known provider,
            one of its aliases, or a protocol.
        base_url: where the API begins, version included; else `<PROVIDER>_BASE_URL`, else the catalogue.
        api_key: the key; else `<PROVIDER>_API_KEY` or another variable that the provider is known by.
        environ: the environment, such as `os.environ`.
        profile: a whole profile, or the switches that differ from the provider's.
        config: what the user adds to the catalogue.
        protocol: the protocol that `model_id` begins with, where it is meant even if a provider is called the same.

    Raises:
        ConfigError: the provider is unknown, the id does not begin with the protocol, or the key, the address or the model's name is missing or malformed.
        UnsupportedError: the provider's protocol cannot be spoken yet.
    """
    if protocol is not None:
        if protocol not in PROTOCOLS or not model_id.startswith(f"{protocol}:"):
            raise ConfigError(f"the model id {model_id[:200]!r} does not begin with the protocol {protocol[:64]!r}", argument="protocol")
        return _at_address(protocol, model_id.removeprefix(f"{protocol}:"), base_url, api_key, profile=profile, config=config)
    name, model = split_id(model_id, config)
    names = config.by_name
    if name in PROTOCOLS and name not in names:  # where a provider is called as its protocol is, the provider is meant
        return _at_address(name, model, base_url, api_key, profile=profile, config=config)
    provider = names[name]
    if provider.protocol not in PROTOCOLS:
        raise UnsupportedError(
            f"{provider.name} is spoken to by the protocol {provider.protocol}, which this version does not have yet; "
            f"for Chat Completions use openai-chat:{model} with base_url={provider.base_url!r}",
            argument="model",
        )
    address = _base_url(provider, base_url, environ)
    signing = None if api_key else _signing(provider, address, environ)
    return Endpoint(
        provider=provider.id,
        protocol=provider.protocol,
        model=model,
        base_url=address,
        api_key=_key(provider, api_key, environ) if signing is None else None,
        profile=_profile(config.profile_of(provider.profile, provider.id, model), provider.id, profile),
        key_header=provider.key_header,
        key_prefix=provider.key_prefix,
        signing=signing,
    )


def split_id(model_id: str, config: Config = EMPTY_CONFIG) -> tuple[str, str]:
    """Split a model's id into the provider's or protocol's name, in lower case, and the model's name.

    Raises:
        ConfigError: no left side is known, or nothing stands at the right.
    """
    names = config.by_name
    if found := split_name(model_id, names):
        name, model = found
        if not model.strip():
            raise ConfigError(f"the model id {model_id!r} names no model after {name!r}", argument="model")
        return name, model
    known = dict.fromkeys([*PROTOCOLS, *(provider.id for provider in config.providers)])
    first = _SEPARATOR.split(model_id, maxsplit=1)[0].lower()
    close = difflib.get_close_matches(first[:64], [*PROTOCOLS, *names], n=3)
    hint = f" Did you mean {' or '.join(close)}?" if close else ""
    problem = f"names the provider {first[:64]!r}, which is unknown" if _SEPARATOR.search(model_id) else "names no provider"
    raise ConfigError(f"the model id {model_id[:200]!r} {problem}; write provider:model.{hint} Known: {', '.join(known)}", argument="model")


def _at_address(
    protocol: str,
    model: str,
    base_url: str | None,
    api_key: str | Secret | None,
    *,
    profile: Profile | Mapping[str, Any] | None,
    config: Config,
) -> Endpoint:
    if not base_url:
        raise ConfigError(f"{protocol}:{model} needs base_url=…, the address of the server with its version, such as https://host/v1",
                          argument="base_url")  # fmt: skip
    address = normalise_base_url(base_url)
    known = _known_at(address, protocol, config.providers)
    provider = known.id if known else urlsplit(address).netloc.lower()
    facts = known or AT_ANY_ADDRESS.get(protocol)
    return Endpoint(
        provider=provider,
        protocol=protocol,
        model=model,
        base_url=address,
        api_key=_as_secret(api_key, "api_key") if api_key else None,
        profile=_profile(config.profile_of(facts.profile if facts else DEFAULT, protocol, model), provider, profile),
        key_header=facts.key_header if facts else "authorization",
        key_prefix=facts.key_prefix if facts else "Bearer ",
    )


def _known_at(address: str, protocol: str, providers: Iterable[Provider]) -> Provider | None:
    """Return the provider whose address this is, so that its quirks in this protocol are known; a local port may be anybody's."""
    host = urlsplit(address).netloc.lower()
    there = [one for one in providers if one.base_url and one.needs_key and _host_of(one.base_url).fullmatch(host)]
    same = next((one for one in there if one.protocol == protocol), None)
    if same is not None or protocol in AT_ANY_ADDRESS:
        return same
    return next((one for one in there if one.protocol not in AT_ANY_ADDRESS), None)


def _host_of(base_url: str) -> re.Pattern[str]:
    """Return what the host of an address is, for any region."""
    return re.compile("([a-z0-9-]+)".join(map(re.escape, urlsplit(base_url).netloc.split(_REGION))))


def _profile(own: Profile, provider: str, given: Profile | Mapping[str, Any] | None) -> Profile:
    profile = Profile.of(given, base=own)
    return profile if profile.provider else profile.replace(provider=provider)


def _base_url(provider: Provider, argument: str | None, environ: Mapping[str, str]) -> str | None:
    if argument:
        return normalise_base_url(argument)
    if provider.is_in_process:
        return None
    own = f"{provider.variable_stem}_BASE_URL"
    pairs = ((own, dict(provider.base_url_variables).get(own, "")), *(pair for pair in provider.base_url_variables if pair[0] != own))
    for variable, suffix in pairs:
        value = environ.get(variable, "").strip()
        if value:
            address = normalise_base_url(value, variable)
            return address if address.endswith(suffix) else address + suffix
    if provider.base_url is None:
        variables = " or ".join(variable for variable, _ in pairs)
        raise ConfigError(f"{provider.name} has no usual address: give base_url=… or set {variables}", argument="base_url")
    if _REGION not in provider.base_url:
        return provider.base_url
    region = region_of(environ)
    if region is None:
        variables = " or ".join((REGION_VARIABLES[0], *(variable for variable, _ in pairs)))
        raise ConfigError(f"{provider.name} has an address for each region: give base_url=… or set {variables}", argument="base_url")
    return provider.base_url.replace(_REGION, region)


def _signing(provider: Provider, base_url: str | None, environ: Mapping[str, str]) -> Signing | None:
    """Return with what requests are signed, where the environment has no key but AWS credentials; its region is the address's."""
    if not provider.signing_service or any(environ.get(variable, "").strip() for variable in provider.all_key_variables):
        return None
    found = _host_of(provider.base_url or "").fullmatch(urlsplit(base_url or "").netloc.lower())
    region = found[1] if found is not None and found.groups() else region_of(environ)
    if region is None:
        raise ConfigError(f"{provider.name} signs requests for a region: set {REGION_VARIABLES[0]}", argument=REGION_VARIABLES[0])
    return signing_of(environ, region=region, service=provider.signing_service)


def _key(provider: Provider, argument: str | Secret | None, environ: Mapping[str, str]) -> Secret | None:
    if argument:
        return _as_secret(argument, "api_key")
    if provider.is_in_process:
        return None
    for variable in provider.all_key_variables:
        value = environ.get(variable, "").strip()
        if value:
            return _as_secret(value, variable)
    if provider.needs_key:
        variables = " or ".join(provider.all_key_variables)
        signed = f", or {' and '.join(KEY_VARIABLES)} to sign requests with" if provider.signing_service else ""
        raise ConfigError(f"{provider.name} needs a key: give api_key=… or set {variables}{signed}", argument="api_key")
    return None


def _as_secret(value: str | Secret, argument: str) -> Secret:
    text = value.reveal() if isinstance(value, Secret) else value.strip()
    if not re.fullmatch(r"[\x21-\x7e]+", text):
        raise ConfigError(f"{argument} holds characters that no header can carry", argument=argument)
    return Secret(text)
