"""The public names: all there, all documented, loaded only when used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import headrace

CONTRACT = """
SystemMessage UserMessage AssistantMessage ToolMessage Message
TextPart ReasoningPart RefusalPart ToolCallPart ToolResultPart MediaPart JsonPart ProviderToolPart ProviderItem OpaquePart
MessageChunk AssistantMessageChunk ToolMessageChunk UserMessageChunk SystemMessageChunk ToolCallFragment Usage merge_values
decode_stream StreamDecoder decode_async StreamResult Model ReplayTransport RecordTransport ScriptedModel Agent tool Context
Pending Approve Deny Answer HeadraceError
""".split()


@pytest.mark.parametrize("name", CONTRACT)
def test_the_contract_s_names_are_exported(name: str) -> None:
    assert name in headrace.__all__


@pytest.mark.parametrize("name", [name for name in headrace.__all__ if name != "__version__"])
def test_every_public_name_loads_and_says_what_it_is(name: str) -> None:
    value = getattr(headrace, name)
    assert getattr(value, "__doc__", None) or name in {"Part", "Delta", "Event", "Reply"}


def test_the_list_of_names_is_the_table_of_their_homes() -> None:
    assert sorted([*headrace._HOME, "__version__"]) == headrace.__all__


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Aget'"):
        _ = headrace.Aget


def test_dir_lists_the_public_names() -> None:
    assert dir(headrace) == headrace.__all__


def loaded_after(code: str) -> set[str]:
    """Run code in a fresh interpreter and return which of the heavy modules it loaded."""
    heavy = "('asyncio', 'httpx2', 'pydantic', 'griffe', 'jiter', 'typer', 'rich', 'ssl', 'xllamacpp')"
    program = f"import sys\n{code}\nprint(*(name for name in {heavy} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def test_importing_headrace_loads_nothing_heavy() -> None:
    assert loaded_after("import headrace") == set()


def test_decoding_loads_no_http_no_pydantic_and_no_event_loop() -> None:
    assert loaded_after("import headrace; headrace.decode_stream(b'', protocol='openai-chat')") <= {"jiter"}


def test_messages_and_chunks_load_no_http_no_pydantic_and_no_event_loop() -> None:
    assert loaded_after("import headrace; headrace.UserMessage('x'); headrace.AssistantMessageChunk('y')") <= {"jiter"}
