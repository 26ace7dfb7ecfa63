"""How to answer, as a client's generateContent request says it: the inverse of `request_options.py`.

The rule of this file: what has a neutral word becomes it; where the wire can say more than that, the whole member is kept for a server of
the same protocol. Its own kind of schema is read as JSON Schema.
"""

# JSON of a client is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any, Final, get_args

from headrace._json import JSON
from headrace.messages.request import NamedTool, OutputFormat, ReasoningEffort, Settings, ToolChoice, ToolSpec
from headrace.wire.gemini.fields_in import camel, each, inner
from headrace.wire.request_fields import Fields

_NUMBERS: Final = {
    "temperature": "temperature",
    "top_p": "topP",
    "frequency_penalty": "frequencyPenalty",
    "presence_penalty": "presencePenalty",
}
_INTEGERS: Final = {"max_tokens": "maxOutputTokens", "seed": "seed", "n": "candidateCount", "top_logprobs": "logprobs"}
_CHOICES: Final[dict[str, ToolChoice]] = {
    "AUTO": "auto",
    "MODE_UNSPECIFIED": "auto",
    "VALIDATED": "auto",
    "NONE": "none",
    "ANY": "required",
}
_BUDGETS: Final[tuple[tuple[int, ReasoningEffort], ...]] = ((0, "none"), (512, "minimal"), (1024, "low"), (8192, "medium"))
"""Up to how many tokens to think with an effort reaches; beyond all it is high."""
_LISTED: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED: Final = ("properties", "$defs", "defs")


class ConfigReader:
    """Reads tools and settings.

    Attributes:
        extra, own, needed, repeated: as in `Incoming`.
    """

    def __init__(self, body: Fields) -> None:
        """Take the body."""
        self.extra: dict[str, Any] = {}
        self.own: dict[str, Any] = {}
        self.needed: list[str] = []
        self.repeated: list[str] = []
        self._body = body
        self._config = inner(body, "generationConfig") or Fields({}, "generationConfig")

    # ------------------------------------------------------------------------------------------ tools

    def tools(self) -> tuple[ToolSpec, ...]:
        """Return the tools; those of the provider's own are needed."""
        tools: list[ToolSpec] = []
        for group in each(self._body, "tools"):
            tools += [self._tool(tool) for tool in each(group, "functionDeclarations")]
            for name in group.rest():
                self.needed.append(f"{group.at(name)}: {name}")
                self.own["tools"] = self._body.any("tools")
        self._body.any("tools")
        return tuple(tools)

    def _tool(self, tool: Fields) -> ToolSpec:
        name, description = tool.required_text("name"), tool.text("description") or ""
        schema, own_schema = tool.object("parametersJsonSchema"), tool.object("parameters")
        parameters = {} if schema is None else schema.values()
        if own_schema is not None:
            self.own["tools"] = self._body.any("tools")
            parameters = json_schema(own_schema.values()) if schema is None else parameters
        return ToolSpec(name=name, description=description, parameters=parameters, provider_data=tool.rest())

    def choice(self, tools: tuple[ToolSpec, ...]) -> tuple[ToolChoice, tuple[ToolSpec, ...]]:
        """Return whether to call, and which tools to offer."""
        config = inner(self._body, "toolConfig")
        calling = None if config is None else inner(config, "functionCallingConfig")
        if config is None:
            return "auto", tools
        word = "AUTO" if calling is None else (calling.text("mode") or "AUTO").upper()
        if calling is not None and word not in _CHOICES:
            raise calling.unknown("mode", ", ".join(_CHOICES))
        allowed = () if calling is None else calling.texts("allowedFunctionNames") or ()
        if config.rest() or word == "VALIDATED" or (calling is not None and calling.rest()):
            self.extra["toolConfig"] = config.values()
        if len(allowed) == 1 and word == "ANY":
            return NamedTool(allowed[0]), tools
        if allowed and word != "NONE":
            self.own["toolConfig"] = config.values()
            self.own["tools"] = self._body.any("tools")  # where it can be said, the tools stay declared
            tools = tuple(tool for tool in tools if tool.name in allowed)
        return _CHOICES[word], tools

    # ------------------------------------------------------------------------------------------ the answer

    def output(self) -> OutputFormat | None:
        """Return the form of the answer."""
        config = self._config
        kind, schema, own_schema = config.text("responseMimeType"), config.object("responseJsonSchema"), config.object("responseSchema")
        if own_schema is not None:
            self._keep()
        if kind not in (None, "application/json", "text/plain"):
            self._keep(is_lost=True)  # such as one of some words
            return None
        if schema is not None:
            return OutputFormat(schema=schema.values())
        if own_schema is not None:
            return OutputFormat(schema=json_schema(own_schema.values()))
        return OutputFormat() if kind == "application/json" else None

    def settings(self) -> Settings:
        """Return how to generate."""
        config = self._config
        values: dict[str, Any] = {
            **{name: config.number(member) for name, member in _NUMBERS.items()},
            **{name: config.integer(member) for name, member in _INTEGERS.items()},
            "stop": config.texts("stopSequences"),
            "logprobs": config.boolean("responseLogprobs"),
            "reasoning_effort": self._effort(),
        }
        modalities = config.texts("responseModalities")
        values["modalities"] = None if modalities is None else tuple(word.lower() for word in modalities)
        if config.rest():
            self._keep(is_lost=True)
        return Settings(**values)

    def _effort(self) -> ReasoningEffort | None:
        thinking = inner(self._config, "thinkingConfig")
        if thinking is None:
            return None
        self._keep()
        self.repeated.append("reasoning_effort")
        level, budget = (thinking.text("thinkingLevel") or "").lower(), thinking.integer("thinkingBudget")
        known: dict[str, ReasoningEffort] = {name: name for name in get_args(ReasoningEffort)}
        if level in known:
            return known[level]
        if budget is None or budget < 0:  # as much as it takes
            return None
        for bound, effort in _BUDGETS:
            if budget <= bound:
                return effort
        return "high"

    def _keep(self, *, is_lost: bool = False) -> None:
        """Keep the whole configuration; `is_lost` if other servers cannot be told all of it."""
        (self.extra if is_lost else self.own)["generationConfig"] = self._config.values()


def json_schema(schema: JSON) -> Any:
    """Return a schema of the wire's own kind as JSON Schema: types in lower case, `nullable` as a type."""
    if not isinstance(schema, dict):
        return schema
    found: dict[str, Any] = {}
    for name, value in camel(Fields(schema, "")).values().items():
        if name in _NAMED and isinstance(value, dict):
            found[name] = {key: json_schema(item) for key, item in value.items()}
        elif name in _LISTED and isinstance(value, list):
            found[name] = [json_schema(item) for item in value]
        elif name in ("items", "additionalProperties"):
            found[name] = json_schema(value)
        elif name == "type" and isinstance(value, str):
            found[name] = value.lower()
        elif name not in ("nullable", "propertyOrdering"):
            found[name] = value
    if schema.get("nullable") is True and isinstance(found.get("type"), str):
        found["type"] = [found["type"], "null"]
    return found
