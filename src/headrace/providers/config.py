"""What a user adds to the catalogue: providers of their own, and switches that differ, from a TOML text or a mapping.

    [providers.lab]
    base_url = "http://localhost:9000/v1"
    key_variables = ["LAB_KEY"]

    [providers.lab.profile]
    max_tokens_field = "max_completion_tokens"

    [models."deepseek:deepseek-chat".profile]
    supports_strict_tools = true

The rule of this file: pure; the text comes in, and whoever reads a file is `models/config_file.py`. Everything that is wrong is a `ConfigError`
that names the file and the path to the key, and repeats no value. Keys of providers are refused: a file gets copied and committed.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any, Final, NoReturn, cast

import msgspec

from headrace.errors import ConfigError, UsageError
from headrace.providers.catalogue import BY_NAME, PROTOCOLS, PROVIDERS
from headrace.providers.names import normalise_base_url, split_name
from headrace.providers.record import Provider
from headrace.wire.profile import DEFAULT, Profile

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}")
_PREFIX: Final = re.compile(r"(?:[A-Za-z]{1,16} )?")
_PLAIN_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
# What people call a key. In a profile the word must be the whole name, since a body may well have a `token` something.
_SECRET: Final = re.compile(r"(?:.*_)?(?:api_?key|key|token|secret|password|authorization|credentials?)", re.IGNORECASE)
_SECRET_MEMBER: Final = re.compile(r"(?:x-)?api[_-]?key|access_token|secret|password|authorization", re.IGNORECASE)

_TEXTS: Final = ("name", "protocol", "base_url", "docs_url", "key_header", "key_prefix")
_LISTS: Final = ("key_variables", "aliases")
_FIELDS: Final = (*_TEXTS, *_LISTS, "needs_key", "profile")


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """What a user adds to the catalogue.

    Attributes:
        source: where it comes from, for people: a file's path, or `config`; "" where there is nothing.
        changed: the providers that were added or changed, whole.
        model_switches: by provider or protocol and model: the switches of a profile that differ for that model alone.
    """

    source: str = ""
    changed: tuple[Provider, ...] = ()
    model_switches: Mapping[tuple[str, str], Mapping[str, Any]] = {}

    @property
    def providers(self) -> tuple[Provider, ...]:
        """Every provider: those of the catalogue, changed ones in their place, then those that were added."""
        changed = {provider.id: provider for provider in self.changed}
        return (*(changed.pop(provider.id, provider) for provider in PROVIDERS), *changed.values())

    @property
    def by_name(self) -> Mapping[str, Provider]:
        """Every provider by its id and by each of its aliases."""
        if not self.changed:
            return BY_NAME
        return {name: provider for provider in self.providers for name in (provider.id, *provider.aliases)}

    def profile_of(self, own: Profile, name: str, model: str) -> Profile:
        """Return the profile of one model: the provider's own, with what differs for this model.

        Args:
            own: the provider's.
            name: the provider's id, or the protocol of the id that was given.
            model: the model's name.
        """
        return own.for_model(model).replace(**self.model_switches.get((name, model), {}))

    @classmethod
    def parse(cls, text: str, source: str) -> Config:
        """Read a TOML text.

        Args:
            text: the text.
            source: what errors call it, such as the file's path.

        Raises:
            ConfigError: it is no TOML, or says something that is unknown or does not fit.
        """
        try:
            tables = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ConfigError(f"{source} is no TOML: {error}", argument=source) from error
        return cls.of(tables, source)

    @classmethod
    def of(cls, value: Mapping[str, Any], source: str = "config") -> Config:
        """Return a mapping, shaped as the TOML text, as a value.

        Raises:
            ConfigError: it says something that is unknown or does not fit.
        """
        return _Reader(source).read(value)


EMPTY_CONFIG: Final = Config()
"""Nothing added: the catalogue as it is."""


class _Reader:
    """Reads one text; knows its name for errors, and what was read so far."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._changed: dict[str, Provider] = {}

    def read(self, tables: Mapping[str, Any]) -> Config:
        self._known(tables, ("providers", "models"), ())
        for name, table in self._table(tables.get("providers", {}), ("providers",)).items():
            provider = self._provider(name, table)
            self._changed[provider.id] = provider
        config = Config(source=self._source, changed=tuple(self._changed.values()))
        self._check_names(config.providers)
        switches = dict(
            self._model(model_id, table, config) for model_id, table in self._table(tables.get("models", {}), ("models",)).items()
        )
        return msgspec.structs.replace(config, model_switches=switches)

    # ------------------------------------------------------------------------------------------ providers

    def _provider(self, name: str, value: object) -> Provider:
        path = ("providers", name)
        if not _NAME.fullmatch(name):
            self._fail(path, "a provider's name is lower-case letters, digits, dots, dashes and underscores")
        known = BY_NAME.get(name)
        if known is None and name in PROTOCOLS:
            self._fail(path, "this is the name of a protocol; choose another")
        if known is not None and known.id in self._changed:
            self._fail(path, f"this is another name of {known.id!r}, which has a table already")
        table = self._table(value, path)
        self._refuse_keys(table, path, (known or Provider(id=name, name=name)).all_key_variables[0])
        self._known(table, _FIELDS, path)
        fields = self._fields(table, path)
        base = known or Provider(id=name, name=name)
        if "aliases" in fields:  # a name that is known stays known
            fields["aliases"] = tuple(dict.fromkeys((*base.aliases, *fields["aliases"])))
        if "profile" in table:
            # Switches of one protocol say nothing about another.
            own = base.profile if fields.get("protocol", base.protocol) == base.protocol else DEFAULT
            fields["profile"] = self._profile(table["profile"], own, (*path, "profile"))
        return msgspec.structs.replace(base, **fields)

    def _fields(self, table: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
        """Return the plain fields of a provider, checked."""
        fields: dict[str, Any] = {field: self._text(table[field], (*path, field)) for field in _TEXTS if field in table}
        fields |= {field: self._texts(table[field], (*path, field)) for field in _LISTS if field in table}
        if "needs_key" in table:
            fields["needs_key"] = self._typed(table["needs_key"], bool, "true or false", (*path, "needs_key"))
        if "base_url" in fields:
            try:
                fields["base_url"] = normalise_base_url(fields["base_url"], self._at((*path, "base_url")))
            except ConfigError as error:
                raise ConfigError(f"{self._source}: {error}", argument=error.argument) from error
        if fields.get("protocol", PROTOCOLS[0]) not in PROTOCOLS:
            self._fail((*path, "protocol"), f"this version speaks {', '.join(PROTOCOLS)}")
        for field, pattern, words in (
            ("key_variables", _VARIABLE, "names of environment variables; a key itself does not belong here"),
            ("aliases", _NAME, "lower-case letters, digits, dots, dashes and underscores"),
        ):
            if not all(pattern.fullmatch(word) for word in fields.get(field, ())):
                self._fail((*path, field), f"these must be {words}")
        if "key_header" in fields and not _HEADER.fullmatch(fields["key_header"]):
            self._fail((*path, "key_header"), "this is no name of a header")
        if "key_prefix" in fields and not _PREFIX.fullmatch(fields["key_prefix"]):
            self._fail((*path, "key_prefix"), 'this is what stands before the key, such as "Bearer " or ""')
        return fields

    def _refuse_keys(self, table: Mapping[str, Any], path: tuple[str, ...], variable: str) -> None:
        for field in table:
            if field not in _FIELDS and _SECRET.fullmatch(field):
                self._fail(
                    (*path, field), f"keys do not belong into a file; set the variable {variable}, or name another one in key_variables"
                )

    def _check_names(self, providers: Iterable[Provider]) -> None:
        owners: dict[str, str] = {}
        for provider in providers:
            for name in dict.fromkeys((provider.id, *provider.aliases)):
                owner = owners.setdefault(name, provider.id)
                if owner != provider.id or (name in PROTOCOLS and name not in BY_NAME):
                    place = provider if provider.id in self._changed and name in provider.aliases else self._changed.get(owner, provider)
                    whose = "a protocol" if owner == provider.id else f"the provider {owner if place is provider else provider.id!r}"
                    self._fail(("providers", place.id, "aliases"), f"{name!r} is the name of {whose}")

    # ------------------------------------------------------------------------------------------ models and profiles

    def _model(self, model_id: str, value: object, config: Config) -> tuple[tuple[str, str], Mapping[str, Any]]:
        path = ("models", model_id)
        found = split_name(model_id, config.by_name)
        if found is None or not found[1].strip():
            self._fail(path, "this is no provider:model whose provider is known")
        name, model = found
        provider = config.by_name.get(name)
        table = self._table(value, path)
        self._known(table, ("profile",), path)
        switches = self._table(table.get("profile", {}), (*path, "profile"))
        self._profile(switches, (provider.profile if provider else DEFAULT).for_model(model), (*path, "profile"))
        return (provider.id if provider else name, model), switches

    def _profile(self, value: object, own: Profile, path: tuple[str, ...]) -> Profile:
        switches = self._table(value, path)
        self._refuse_members(switches, path)
        self._known(switches, Profile.__struct_fields__, path)
        try:
            return _replaced(own, switches)
        except UsageError as error:
            raise self._profile_error(switches, own, path, error) from error

    def _profile_error(self, switches: Mapping[str, Any], own: Profile, path: tuple[str, ...], error: UsageError) -> ConfigError:
        """Name the one switch that is wrong, if it is one alone."""
        for name, value in switches.items():
            try:
                _replaced(own, {name: value})
            except UsageError as cause:
                return self._error((*path, name), str(cause).removeprefix("profile: "))
        return self._error(path, str(error).removeprefix("profile: "))

    def _refuse_members(self, value: object, path: tuple[str, ...]) -> None:
        if isinstance(value, Mapping):
            for key, member in cast("Mapping[object, object]", value).items():
                place = (*path, str(key))
                if _SECRET_MEMBER.fullmatch(str(key)):
                    self._fail(place, "keys do not belong into a file; set the provider's variable")
                self._refuse_members(member, place)

    # ------------------------------------------------------------------------------------------ values and errors

    def _table(self, value: object, path: tuple[str, ...]) -> Mapping[str, Any]:
        table = cast("Mapping[str, Any]", self._typed(value, Mapping, "a table", path))
        if not all(isinstance(key, str) for key in table):
            self._fail(path, "the names in a table are texts")
        return table

    def _text(self, value: object, path: tuple[str, ...]) -> str:
        return str(self._typed(value, str, "a text", path))

    def _texts(self, value: object, path: tuple[str, ...]) -> tuple[str, ...]:
        if not isinstance(value, list | tuple):
            self._fail(path, f"this must be a list of texts, not {_word(value)}")
        return tuple(self._text(one, path) for one in cast("Iterable[object]", value))

    def _typed(self, value: object, kind: type[Any], words: str, path: tuple[str, ...]) -> Any:
        if not isinstance(value, kind):
            self._fail(path, f"this must be {words}, not {_word(value)}")
        return value

    def _known(self, table: Mapping[str, Any], names: tuple[str, ...], path: tuple[str, ...]) -> None:
        for key in table:
            if key not in names:
                close = difflib.get_close_matches(str(key)[:64], names, n=1)
                hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(names)}" if len(names) < 20 else "see Profile"
                self._fail((*path, str(key)), f"there is no such key; {hint}")

    def _at(self, path: tuple[str, ...]) -> str:
        return ".".join(key if _PLAIN_KEY.fullmatch(key) else f'"{key[:200]}"' for key in path)

    def _error(self, path: tuple[str, ...], problem: str) -> ConfigError:
        return ConfigError(f"{self._source}: {self._at(path)}: {problem}", argument=self._at(path))

    def _fail(self, path: tuple[str, ...], problem: str) -> NoReturn:
        raise self._error(path, problem)


def _replaced(own: Profile, switches: Mapping[str, Any]) -> Profile:
    """Return a profile with some switches changed, its patterns and its switches by model tried.

    Raises:
        UsageError: a switch or a pattern does not fit.
    """
    try:
        profile = own.replace(**switches)
        for pattern in (profile.tool_name_pattern or "", *profile.by_model):
            re.compile(pattern)
    except re.error as error:
        raise ConfigError(f"this is no regular expression: {error}", argument="profile") from error
    for changes in profile.by_model.values():
        profile.replace(**changes)
    return profile


_WORDS: Final[tuple[tuple[type[object], str], ...]] = (
    (bool, "true or false"),
    (str, "a text"),
    (int, "a number"),
    (float, "a number"),
    (list, "a list"),
    (Mapping, "a table"),
)


def _word(value: object) -> str:
    """What kind of value it is, without the value."""
    name = type(value).__name__
    return next((word for kind, word in _WORDS if isinstance(value, kind)), f"a {name}")
