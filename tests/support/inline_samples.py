"""Calls as models write them into their text: for each way some blocks, with the calls that they are."""

from __future__ import annotations

BAR, LOW = "\uff5c", "\u2581"
TOOLS = {
    "w": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}},
    "v": {},
}
OSLO = ("w", {"city": "Oslo"})
NOTHING = ("v", {})


def mark(words):
    return f"<{BAR}{words.replace(' ', LOW)}{BAR}>"


def deepseek(*calls):
    inner = "\n".join(f"{mark('tool call begin')}{call}{mark('tool call end')}" for call in calls)
    return f"{mark('tool calls begin')}{inner}{mark('tool calls end')}"


DSML = f"{BAR}DSML{BAR}"
SEP = mark("tool sep")

# (family, text, calls)
SAMPLES = [
    ("hermes", '<tool_call>\n{"name": "w", "arguments": {"city": "Oslo"}}\n</tool_call>', [OSLO]),
    ("hermes", '<tool_call>{"name": "w", "arguments": "{\\"city\\": \\"Oslo\\"}"}\n{"name": "v"}</tool_call>', [OSLO, NOTHING]),
    ("hermes", '<tool_call>[{"name": "w", "parameters": {"city": "a</tool_call>\\"b"}}]</tool_call>', [("w", {"city": 'a</tool_call>"b'})]),
    ("hermes", '<tool_call>{"name": "w", "arguments": {"city": "two\nlines"}}}</tool_call>', [("w", {"city": "two\nlines"})]),
    (
        "qwen-coder",
        "<tool_call>\n<function=w>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n5\n</parameter>\n</function>\n</tool_call>",
        [("w", {"city": "Oslo", "days": 5})],
    ),
    ("qwen-coder", "<tool_call><function=v></function></tool_call>", [NOTHING]),
    ("glm", "<tool_call>w\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n</tool_call>", [OSLO]),
    ("glm", "<tool_call>v</tool_call>", [NOTHING]),
    ("function-tag", '<function=w>{"city": "Oslo"}</function>', [OSLO]),
    ("function-tag", "<function=w>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>", [OSLO]),
    ("llama", '<|python_tag|>{"name": "w", "parameters": {"city": "Oslo"}}; {"name": "v", "parameters": {}}<|eom_id|>', [OSLO, NOTHING]),
    ("mistral", '[TOOL_CALLS] [{"name": "w", "arguments": {"city": "Oslo"}}, {"name": "v", "arguments": {}}]</s>', [OSLO, NOTHING]),
    ("mistral", '[TOOL_CALLS]w[CALL_ID]a1[ARGS]{"city": "Oslo"}[TOOL_CALLS]v[ARGS]{}', [OSLO, NOTHING]),
    ("mistral", '[TOOL_CALLS]w{"city": "Oslo"}', [OSLO]),
    ("deepseek", deepseek(f'function{SEP}w\n```json\n{{"city": "Oslo"}}\n```', f"function{SEP}v\n```json\n{{}}\n```"), [OSLO, NOTHING]),
    ("deepseek", deepseek(f'w{SEP}{{"city": "Oslo"}}', f"v{SEP}"), [OSLO, NOTHING]),
    (
        "dsml",
        (
            f'<{DSML}function_calls>\n<{DSML}invoke name="w">\n<{DSML}parameter name="city" string="true">1</{DSML}parameter>\n'
            f'<{DSML}parameter name="days" string="false">1</{DSML}parameter>\n</{DSML}invoke>\n</{DSML}function_calls>'
        ),
        [("w", {"city": "1", "days": 1})],
    ),
    ("dsml", f'<{DSML}tool_calls><{DSML}invoke name="v"></{DSML}invoke></{DSML}tool_calls>', [NOTHING]),
    ("invoke", '<function_calls>\n<invoke name="w">\n<parameter name="city">Oslo</parameter>\n</invoke>\n</function_calls>', [OSLO]),
    (
        "minimax",
        '<minimax:tool_call>\n<invoke name="w">\n<parameter name="city">Oslo</parameter>\n</invoke>\n<invoke name="v">\n</invoke>\n</minimax:tool_call>',
        [OSLO, NOTHING],
    ),
    (
        "kimi",
        (
            '<|tool_calls_section_begin|><|tool_call_begin|>functions.w:0<|tool_call_argument_begin|>{"city": "Oslo"}<|tool_call_end|>'
            "<|tool_call_begin|>functions.v:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>"
        ),
        [OSLO, NOTHING],
    ),
    ("granite", '<|tool_call|>[{"name": "w", "arguments": {"city": "Oslo"}}]', [OSLO]),
    ("granite", '<|tool_call|>[{"type": "function", "function": {"name": "w", "arguments": {"city": "Oslo"}}}]<|/tool_call|>', [OSLO]),
    ("jamba", '<tool_calls>[{"name": "w", "arguments": {"city": "Oslo"}}]</tool_calls>', [OSLO]),
    ("command", '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "w", "parameters": {"city": "Oslo"}}]<|END_ACTION|>', [OSLO]),
]

# What looks like a block and is none: to be text, to the letter.
NO_CALLS = [
    "Use the <tool_call> tag, or <function=name>.",
    "<tool_call> a <tool_calls> b [TOOL_CALLS] c <|python_tag|> d",
    '<tool_call>{"name": "w"</tool_call>',
    '<tool_call>{"name": "w", "arguments": [1]}</tool_call>',
    '<tool_call>{"name": 5, "arguments": {}}</tool_call>',
    '<tool_call>{"name": "w", "arguments": "no JSON"}</tool_call>',
    '<tool_call>{"name": "other", "arguments": {}}</tool_call>',
    '<tool_call>{"name": "w"}{"name": "other"}</tool_call>',
    "<tool_call>[5]</tool_call>",
    '<tool_call>[{"name": "w"]}</tool_call>',
    "<tool_call>w<arg_key>city</arg_key></tool_call>",
    "<tool_call><function=w><parameter=city>Oslo</function></tool_call>",
    "<tool_call><function=w></function> and more</tool_call>",
    "<tool_call><function=",
    "<function=w>{</function>",
    "<function=w>[1]</function>",
    '[TOOL_CALLS]w[ARGS]{"city": "Oslo"}{}',
    "[TOOL_CALLS]w[ARGS] [1]",
    "[TOOL_CALLS] []",
    f"{mark('tool calls begin')}{mark('tool call begin')}w{mark('tool calls end')}",
    deepseek(f"w{SEP}5"),
    "<function_calls>\n<invoke>\n</function_calls>",
    f"<tool_call>{'x' * 200}",
    f"<tool_call>{' ' * 300}{{}}",
    "a < b [c] <tool",
    "<tool_call",
]
