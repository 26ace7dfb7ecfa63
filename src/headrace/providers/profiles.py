"""The profiles of the catalogue: where a server differs from what Chat Completions says.

The rule of this file: only differences stand here, each with what was seen. Reasoning goes back where the vendor asks for
it; a server that refuses members it does not know gets none.
"""

from __future__ import annotations

from typing import Any, Final

from headrace.wire.profile import Profile

_EFFORTS: Final[tuple[str, ...]] = ("minimal", "low", "medium", "high")


def _on_off(off: dict[str, Any], on: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return efforts of a server that only thinks or does not."""
    return {"none": off, **dict.fromkeys(_EFFORTS, on)}


def _budgets(*budgets: int) -> dict[str, dict[str, Any]]:
    """Return efforts of a server that wants a number of tokens to think with."""
    efforts: dict[str, dict[str, Any]] = {"none": {"enable_thinking": False}}
    for effort, tokens in zip(_EFFORTS, budgets, strict=True):
        efforts[effort] = {"enable_thinking": True, "thinking_budget": tokens}
    return efforts


_THINKING: Final = _on_off({"thinking": {"type": "disabled"}}, {"thinking": {"type": "enabled"}})

# Ids of calls: "string too long. Expected a string with maximum length 40" (also for ids that another of its own APIs made).
OPENAI: Final = Profile(
    call_id_pattern=r".{1,40}",
    tool_name_pattern=r"[A-Za-z0-9_-]",
    max_tokens_field="max_completion_tokens",
    supports_refusal=True,
    supports_custom_tools=True,
    supports_strict_tools=True,
    # "Encrypted content is not supported with this model": asked for only of models that think.
    by_model={r"(?:o\d|gpt-[5-9](?!.*chat)|codex|computer-use).*": {"responses_body": {"include": ["reasoning.encrypted_content"]}}},
)
AZURE: Final = OPENAI.replace(supports_custom_tools=False)

# "The `reasoning_content` in the thinking mode must be passed back": of every assistant message, "" where none came.
DEEPSEEK: Final = Profile(
    reasoning_style="field",
    reasoning_when="always",
    reasoning_filler="",
    output_formats=("json_object",),
    unsupported_settings=("n", "seed", "parallel_tool_calls"),
    supports_audio=False,
    supports_files=False,
    efforts={
        "none": {"thinking": {"type": "disabled"}},
        **{effort: {"thinking": {"type": "enabled"}, "reasoning_effort": effort.replace("minimal", "low")} for effort in _EFFORTS},
    },
)
ALIBABA: Final = Profile(
    reasoning_style="field",
    reasoning_when="tool_turns",
    supports_video=True,
    tool_choices=("auto", "none", "named"),
    efforts=_budgets(1024, 4096, 12288, 32768),
)
# "thinking is enabled but reasoning_content is missing in assistant tool call message"; a blank stands where none came.
MOONSHOT: Final = Profile(
    reasoning_style="field",
    reasoning_when="tool_turns",
    reasoning_filler=" ",
    names_tool_results=True,
    supports_video=True,
    efforts=_THINKING,
)
# Arguments come in pieces only if asked for; forced choices are not there.
ZHIPU: Final = Profile(
    reasoning_style="field",
    reasoning_when="tool_turns",
    output_formats=("json_object",),
    tool_choices=("auto",),
    unsupported_settings=("n", "seed", "frequency_penalty", "presence_penalty", "logprobs", "top_logprobs", "parallel_tool_calls"),
    supports_video=True,
    supports_file_urls=True,
    efforts=_THINKING,
)
VOLCENGINE: Final = Profile(
    reasoning_style="field",
    reasoning_when="tool_turns",
    supports_video=True,
    efforts={
        "none": {"thinking": {"type": "disabled"}},
        **{effort: {"thinking": {"type": "enabled"}, "reasoning_effort": effort} for effort in _EFFORTS},
    },
)
# Without reasoning_split the thinking stands in the text; with it, in reasoning_details, which go back as they came.
MINIMAX: Final = Profile(
    reasoning_style="details",
    supports_several_system_messages=False,
    unsupported_settings=("n", "seed", "reasoning_effort", "logprobs", "top_logprobs"),
    body={"reasoning_split": True},
    decode_options={"think_tags": True},
)
SILICONFLOW: Final = Profile(reasoning_style="field", reasoning_when="tool_turns", efforts=_budgets(1024, 4096, 12288, 32768))
XAI: Final = Profile(supports_strict_tools=True)
# "property 'reasoning_content' is unsupported"; `reasoning` is refused by the models that do not think;
# "json mode cannot be combined with tool/function calling".
GROQ: Final = Profile(
    supports_output_with_tools=False,
    sends_provider_data=False,
    supports_files=False,
    supports_audio=False,
    unsupported_settings=("n", "logprobs", "top_logprobs"),
)
# Refuses every member that it does not know ("extra_forbidden"), a user message right after a tool's, and other ids.
MISTRAL: Final = Profile(
    reasoning_style="parts",
    takes_foreign_reasoning=False,
    sends_provider_data=False,
    supports_names=False,
    names_tool_results=True,
    needs_assistant_after_tool=True,
    content_with_calls="empty",
    call_id_pattern=r"[A-Za-z0-9]{9}",
    call_id_length=9,
    seed_field="random_seed",
    supports_stream_usage=False,
    supports_strict_tools=True,
    unsupported_settings=("logprobs", "top_logprobs"),
    efforts=_on_off({"reasoning_effort": "none"}, {"reasoning_effort": "high"}),
)
CEREBRAS: Final = Profile(
    supports_strict_tools=True,
    max_tokens_field="max_completion_tokens",
    unsupported_settings=("n", "frequency_penalty", "presence_penalty"),
    supports_audio=False,
    supports_files=False,
)
PERPLEXITY: Final = Profile(decode_options={"think_tags": True}, supports_audio=False, unsupported_settings=("n", "seed"))
# Keeps what its upstreams need in reasoning_details: they go back whole, in order, unchanged.
OPENROUTER: Final = Profile(
    reasoning_style="details",
    reasoning_field="reasoning",
    supports_file_urls=True,
    supports_video=True,
    supports_strict_tools=True,
    efforts={"none": {"reasoning": {"effort": "none"}}, **{effort: {"reasoning": {"effort": effort}} for effort in _EFFORTS}},
)
VERCEL: Final = Profile(reasoning_style="details", reasoning_field="reasoning", supports_strict_tools=True)
# A tool message without the tool's name is "an invalid argument"; thought signatures travel in extra_content of a call;
# "Function calling with a response mime type: 'application/json' is unsupported", before the third generation.
GEMINI: Final = Profile(
    supports_output_with_tools=False,
    names_tool_results=True,
    supports_strict_tools=False,
    unsupported_settings=("seed", "frequency_penalty", "presence_penalty", "logprobs", "top_logprobs", "parallel_tool_calls"),
)
_TEMPLATE_EFFORTS: Final[dict[str, dict[str, Any]]] = {
    "none": {"chat_template_kwargs": {"enable_thinking": False}},
    **{effort: {"reasoning_effort": effort} for effort in _EFFORTS},
}
# Servers of open models: the template decides what of the thinking is read again, and reads it only in tool turns.
VLLM: Final = Profile(reasoning_style="field", reasoning_when="tool_turns", supports_video=True, efforts=_TEMPLATE_EFFORTS)
SGLANG: Final = VLLM
LLAMACPP: Final = Profile(
    reasoning_style="field",
    reasoning_when="tool_turns",
    tool_choices=("auto", "none", "required"),
    unsupported_settings=("n",),
    efforts=_TEMPLATE_EFFORTS,
)
# No tool_choice at all; `reasoning` is its own name for thinking.
OLLAMA: Final = Profile(
    reasoning_style="field",
    reasoning_field="reasoning",
    reasoning_when="tool_turns",
    tool_choices=("auto",),
    unsupported_settings=("n", "logprobs", "top_logprobs", "parallel_tool_calls"),
    supports_audio=False,
    supports_files=False,
    efforts={
        "none": {"reasoning_effort": "none"},
        **{effort: {"reasoning_effort": effort.replace("minimal", "low")} for effort in _EFFORTS},
    },
)
# Images and thinking stand beside the text, arguments are objects, and nothing can force a call.
OLLAMA_NATIVE: Final = Profile(
    reasoning_style="field",
    reasoning_field="thinking",
    reasoning_when="tool_turns",
    supports_names=False,
    tool_choices=("auto", "none"),
    arguments_as="object",
    unsupported_settings=("n", "parallel_tool_calls"),
    supports_audio=False,
    supports_files=False,
    supports_images_in_results=True,
)
# Its models that do not think refuse thinking in a history, so only what they thought themselves goes back.
COHERE: Final = Profile(
    reasoning_style="parts",
    reasoning_when="tool_turns",
    takes_foreign_reasoning=False,
    supports_names=False,
    supports_strict_tools=True,
    tool_choices=("auto", "none", "required"),
    unsupported_settings=("n", "top_logprobs", "parallel_tool_calls"),
    supports_audio=False,
    supports_files=False,
    efforts=_THINKING,
)
DASHSCOPE: Final = ALIBABA.replace(
    supports_names=False,
    names_tool_results=True,
    unsupported_settings=("frequency_penalty",),
    decode_options={"incremental_output": True},
)


def _levels(off: str, minimal: str) -> dict[str, dict[str, Any]]:
    """Return efforts of a model that thinks in levels; it cannot be kept from thinking, only from much of it."""
    levels = zip(_EFFORTS, (minimal, "low", "medium", "high"), strict=True)
    return {
        "none": {"generationConfig": {"thinkingConfig": {"thinkingLevel": off}}},
        **{effort: {"generationConfig": {"thinkingConfig": {"includeThoughts": True, "thinkingLevel": level}}} for effort, level in levels},
    }


# "Function call is missing a thought_signature": from the third generation on, of the first call of each answer; the value here is the one
# that Google names for calls which no such model made. Media in a result are theirs too, levels of thinking instead of budgets, and schemas
# beside tools: of others that is "Function calling with a response mime type: 'application/json' is unsupported".
_GEMINI_3: Final[dict[str, Any]] = {
    "unsigned_call": "skip_thought_signature_validator",
    "supports_images_in_results": True,
    "supports_output_with_tools": True,
}
GOOGLE: Final = Profile(
    reasoning_style="parts",
    takes_foreign_reasoning=False,
    supports_names=False,
    tool_name_pattern=r"[A-Za-z0-9_.:-]",
    supports_video=True,
    supports_file_urls=True,
    supports_output_with_tools=False,
    unsupported_settings=("parallel_tool_calls",),
    by_model={
        r"(?:.*/)?gemini-(?:[3-9]|\d\d)[\d.]*-pro\b.*": {**_GEMINI_3, "efforts": _levels("low", "low")},
        r"(?:.*/)?gemini-(?:[3-9]|\d\d)\b.*": {**_GEMINI_3, "efforts": _levels("minimal", "minimal")},
        r"(?:.*/)?(?:gemini-(?:1|2\.0)\b|gemma-).*": {"unsupported_settings": ("parallel_tool_calls", "reasoning_effort")},
    },
)
INTERACTIONS: Final = GOOGLE.replace(
    supports_images_in_results=True,
    unsupported_settings=("parallel_tool_calls", "n", "frequency_penalty", "presence_penalty", "logprobs", "top_logprobs"),
    by_model={},
)
LMSTUDIO: Final = Profile(tool_choices=("auto", "none", "required"), unsupported_settings=("n",))

# ---------------------------------------------------------------------------------------------- the Messages protocol


def _thinking_budgets(*budgets: int) -> dict[str, dict[str, Any]]:
    """Return efforts of a model that wants a number of tokens to think with."""
    thinking = zip(_EFFORTS, budgets, strict=True)
    return {
        "none": {"thinking": {"type": "disabled"}},
        **{effort: {"thinking": {"type": "enabled", "budget_tokens": tokens}} for effort, tokens in thinking},
    }


def _adaptive_thinking(off: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return efforts of a model that decides by itself how much it thinks."""
    words = zip(_EFFORTS, ("low", "low", "medium", "high"), strict=True)
    return {"none": off, **{effort: {"thinking": {"type": "adaptive"}, "output_config": {"effort": word}} for effort, word in words}}


# What every server takes that speaks Messages; a signature is asked for by the one who gave it alone.
MESSAGES: Final = Profile(
    call_id_pattern=r"[A-Za-z0-9_-]+",
    tool_name_pattern=r"[A-Za-z0-9_-]",
    takes_foreign_reasoning=False,
    supports_images_in_results=True,
    supports_file_urls=True,
    output_formats=("json_schema",),
    efforts=_thinking_budgets(1024, 2048, 8192, 16384),
)
_NO_SAMPLING: Final = ("temperature", "top_p")
# Older models want a budget; from 4.6 on they decide themselves, from 4.7 on a temperature is an error, from 5 on they think unless told not to.
ANTHROPIC: Final = MESSAGES.replace(
    max_tool_name=128,
    needs_signature=True,
    needs_declared_tools=True,
    supports_strict_tools=True,
    default_max_tokens=16384,
    efforts=_adaptive_thinking({"thinking": {"type": "disabled"}}),
    unsupported_settings=_NO_SAMPLING,
    by_model={
        r"claude-3-7-.*|claude-(?:opus|sonnet|haiku)-4(?:-[0-5])?(?:[-@]\d{8}|-latest)?": {
            "efforts": _thinking_budgets(1024, 2048, 8192, 16384),
            "unsupported_settings": (),
        },
        r"claude-(?:3|2|instant)\b.*": {"efforts": {}, "unsupported_settings": (), "default_max_tokens": 4096},
        r"claude-[a-z]+-4-6.*": {"unsupported_settings": ()},
        r"claude-[a-z]+-4-[7-9].*": {"efforts": _adaptive_thinking({})},
    },
)
_NO_FORMAT: Final = MESSAGES.replace(output_formats=())
DEEPSEEK_MESSAGES: Final = _NO_FORMAT.replace(
    supports_images=False,
    supports_files=False,
    unsupported_settings=("parallel_tool_calls",),
    efforts={
        "none": {"thinking": {"type": "disabled"}},
        **{effort: {"thinking": {"type": "enabled"}, "output_config": {"effort": effort.replace("minimal", "low")}} for effort in _EFFORTS},
    },
)
MOONSHOT_MESSAGES: Final = _NO_FORMAT
ZHIPU_MESSAGES: Final = _NO_FORMAT.replace(efforts=_THINKING)
# "He", then "He" again in the first delta: the start of a block is repeated.
MINIMAX_MESSAGES: Final = _NO_FORMAT.replace(decode_options={"drop_repeated_block_start_text": True})

# ---------------------------------------------------------------------------------------------- Bedrock


def _model_fields(efforts: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return efforts that are a model's own fields, where Converse has them."""
    return {effort: {"additionalModelRequestFields": fields} for effort, fields in efforts.items()}


_NOT_IN_CONVERSE: Final = ("n", "seed", "frequency_penalty", "presence_penalty", "logprobs", "top_logprobs", "parallel_tool_calls")
# What the wire's grammar demands of ids and names. A word for the effort is each family's own; most models refuse thinking without a signature.
BEDROCK: Final = Profile(
    call_id_pattern=r"[a-zA-Z0-9_.:-]{1,64}",
    tool_name_pattern=r"[A-Za-z0-9_-]",
    needs_signature=True,
    needs_declared_tools=True,
    takes_foreign_reasoning=False,
    tool_choices=("auto", "required", "named"),
    supports_names=False,
    supports_video=True,
    supports_strict_tools=True,
    supports_images_in_results=True,
    output_formats=("json_schema",),
    unsupported_settings=_NOT_IN_CONVERSE,
    by_model={
        r".*anthropic\.claude-(?:3-7-|(?:opus|sonnet|haiku)-4-(?:[0-5]-)?\d{8}).*": {
            "efforts": _model_fields(_thinking_budgets(1024, 2048, 8192, 16384))
        },
        r".*anthropic\.claude-[a-z]+-4-6.*": {"efforts": _model_fields(_adaptive_thinking({"thinking": {"type": "disabled"}}))},
        r".*anthropic\.claude-(?!instant)[a-z]+-\d.*": {
            "unsupported_settings": (*_NOT_IN_CONVERSE, *_NO_SAMPLING),
            "efforts": _model_fields(_adaptive_thinking({"thinking": {"type": "disabled"}})),
        },
        r".*openai\.gpt-oss.*": {
            "efforts": _model_fields(
                {"none": {"reasoning_effort": "low"}, **{e: {"reasoning_effort": e.replace("minimal", "low")} for e in _EFFORTS}}
            )
        },
        r".*amazon\.nova-2.*": {
            "efforts": _model_fields(
                {
                    "none": {"reasoningConfig": {"type": "disabled"}},
                    **{e: {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": e.replace("minimal", "low")}} for e in _EFFORTS},
                }
            )
        },
    },
)
BEDROCK_MESSAGES: Final = ANTHROPIC.replace(
    max_tool_name=64,
    by_model={rf".*anthropic\.(?:{pattern})(?:-v\d.*)?": changes for pattern, changes in ANTHROPIC.by_model.items()},
)
