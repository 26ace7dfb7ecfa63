"""What each vendor was seen to insist on, as the body that it gets."""

import json

import pytest

from headrace.messages.message import AssistantMessage, ToolMessage, UserMessage
from headrace.messages.parts import ReasoningPart, TextPart, ToolCallPart
from headrace.messages.request import Request, Settings
from headrace.providers import profiles
from headrace.wire.openai_chat.request_out import encode_request

CALL = ToolCallPart(id="functions.clock:0", name="clock")


def body(profile, *messages, **settings):
    return json.loads(encode_request(Request(model="m", messages=messages, settings=Settings(**settings)), profile).body)


def tool_round(profile, *parts):
    return body(profile, UserMessage("u"), AssistantMessage([*parts, CALL]), ToolMessage("12", call_id=CALL.id))["messages"]


def test_deepseek_gets_reasoning_with_every_answer_and_an_empty_one_where_none_came():
    assert tool_round(profiles.DEEPSEEK, ReasoningPart("t"))[1]["reasoning_content"] == "t"
    assert tool_round(profiles.DEEPSEEK)[1]["reasoning_content"] == ""
    assert body(profiles.DEEPSEEK, AssistantMessage("hi"))["messages"][0]["reasoning_content"] == ""


def test_moonshot_gets_reasoning_with_calls_and_the_id_unchanged():
    messages = tool_round(profiles.MOONSHOT, ReasoningPart("t"))
    assert messages[1]["reasoning_content"] == "t"
    assert messages[1]["tool_calls"][0]["id"] == messages[2]["tool_call_id"] == "functions.clock:0"
    assert tool_round(profiles.MOONSHOT)[1]["reasoning_content"] == " "


def test_mistral_gets_ids_of_nine_letters_and_an_answer_before_the_user_speaks_on():
    history = [AssistantMessage([CALL]), ToolMessage("12", call_id=CALL.id), UserMessage("stop")]
    sent = body(profiles.MISTRAL, *history, seed=1)
    call, result, bridge, user = sent["messages"]
    assert call["tool_calls"][0]["id"] == result["tool_call_id"]
    assert len(result["tool_call_id"]) == 9
    assert result["tool_call_id"].isalnum()
    assert (bridge["role"], user["role"]) == ("assistant", "user")
    assert sent["random_seed"] == 1
    assert "stream_options" not in sent


@pytest.mark.parametrize("profile", [profiles.GROQ, profiles.MISTRAL, profiles.OPENAI, profiles.CEREBRAS])
def test_strict_servers_get_no_member_that_they_would_refuse(profile):
    message = AssistantMessage([ReasoningPart("t", signature="s"), TextPart("hi", provider_data={"x": 1})], provider="other")
    [sent] = body(profile, message)["messages"]
    assert set(sent) == {"role", "content"}


@pytest.mark.parametrize("profile", [profiles.OPENROUTER, profiles.MINIMAX, profiles.VERCEL])
def test_gateways_get_their_reasoning_details_back(profile):
    details = ({"type": "reasoning.text", "text": "t", "signature": "s"},)
    assert tool_round(profile, ReasoningPart("t", details=details))[1]["reasoning_details"] == list(details)


def test_openai_gets_its_own_words_and_short_ids():
    long = ToolCallPart(id="x" * 41, name="a.b")
    sent = body(profiles.OPENAI, AssistantMessage([long]), ToolMessage("1", call_id=long.id), max_tokens=5)
    [call] = sent["messages"][0]["tool_calls"]
    assert len(call["id"]) <= 40
    assert call["function"]["name"] == "a_b"
    assert sent["max_completion_tokens"] == 5


def test_gemini_gets_the_tools_name_and_its_thought_signature():
    data = {"extra_content": {"google": {"thought_signature": "sig=="}}}
    call = ToolCallPart(id="c", name="clock", provider_data=data)
    assistant, result = body(profiles.GEMINI, AssistantMessage([call]), ToolMessage("12", call_id="c"))["messages"]
    assert assistant["tool_calls"][0]["extra_content"] == data["extra_content"]
    assert result["name"] == "clock"


@pytest.mark.parametrize(
    ("profile", "effort", "members"),
    [
        (profiles.ALIBABA, "none", {"enable_thinking": False}),
        (profiles.ALIBABA, "low", {"enable_thinking": True, "thinking_budget": 4096}),
        (profiles.ZHIPU, "high", {"thinking": {"type": "enabled"}}),
        (profiles.OPENROUTER, "low", {"reasoning": {"effort": "low"}}),
        (profiles.MISTRAL, "low", {"reasoning_effort": "high"}),
        (profiles.VLLM, "none", {"chat_template_kwargs": {"enable_thinking": False}}),
        (profiles.DEEPSEEK, "minimal", {"thinking": {"type": "enabled"}, "reasoning_effort": "low"}),
        (profiles.OPENAI, "minimal", {"reasoning_effort": "minimal"}),
    ],
)
def test_how_much_to_think_is_said_in_the_vendors_words(profile, effort, members):
    sent = body(profile, UserMessage("u"), reasoning_effort=effort)
    assert {key: sent[key] for key in members} == members


def test_who_refuses_a_form_of_the_answer_beside_tools_is_known():
    assert not profiles.GROQ.supports_output_with_tools
    assert not profiles.GOOGLE.for_model("gemini-2.5-flash").supports_output_with_tools
    assert profiles.GOOGLE.for_model("gemini-3-flash-preview").supports_output_with_tools
    assert profiles.GOOGLE.for_model("gemini-3.1-pro-preview").supports_output_with_tools
    assert profiles.OPENAI.supports_output_with_tools
