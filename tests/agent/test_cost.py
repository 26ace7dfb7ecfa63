"""What one round costs, in calls of functions: the one measure that no busy machine changes (`bench/agents.py` measures time)."""

from __future__ import annotations

import sys

from chat_bytes import DONE, call_stream, chunk, text_stream
from headrace import Agent, Model, tool

# Counted with everything but the network, and a tenth to spare: a round cost 1,740 when this was written.
MAX_CALLS = 1_915
MAX_GROWTH = 1.1


class Answer:
    """An answer whose body comes in one piece."""

    status = 200
    headers = {"content-type": "text/event-stream"}  # noqa: RUF012 - nobody changes it

    def __init__(self, body):
        self._pieces = [body]

    def chunks(self):
        return self

    def __aiter__(self):
        return self

    async def __anext__(self):
        if not self._pieces:
            raise StopAsyncIteration
        return self._pieces.pop()

    async def __aenter__(self):
        return self

    async def __aexit__(self, *exc_info):
        pass


class Rounds:
    """A transport that answers with a call for so many rounds, and then with text."""

    def __init__(self, rounds):
        usage = chunk(choices=[], usage={"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15})
        self._bodies = [
            b"".join([*call_stream("look", '{"ci', 'ty":"', f'C{n}"}}', id=f"call_{n}")[:-1], usage, DONE]) for n in range(rounds)
        ]
        self._bodies.append(b"".join(text_stream("sunny ", "in ", "Oslo")))
        self.asked = 0

    def stream(self, request, **_options):
        body = self._bodies[self.asked]
        self.asked += 1
        return Answer(body)

    async def aclose(self):
        pass


@tool
async def look(city: str) -> str:
    """Look at a city."""
    return f"sunny in {city}"


async def calls_per_round(rounds):
    """Return how many functions are called in each round of a run, as the profiler of the interpreter counts them."""
    count = 0

    def see(_frame, event, _arg):
        nonlocal count
        if event in ("call", "c_call"):
            count += 1

    def agent_for(rounds):
        return Agent(Model("openai-chat:m", base_url="http://unused.test/v1", transport=Rounds(rounds)), tools=[look], max_rounds=None)

    await agent_for(2).run("Where is the sun?")  # what is made once is made by now
    agent = agent_for(rounds)
    before = sys.getprofile()
    sys.setprofile(see)
    try:
        result = await agent.run("Where is the sun?")
    finally:
        sys.setprofile(before)
    assert (result.rounds, result.message.text) == (rounds + 1, "sunny in Oslo")
    return count / (rounds + 1)


async def test_a_round_costs_few_calls():
    assert await calls_per_round(50) <= MAX_CALLS


async def test_a_round_late_in_a_talk_costs_what_an_early_one_does():
    assert await calls_per_round(200) <= MAX_GROWTH * await calls_per_round(20)
