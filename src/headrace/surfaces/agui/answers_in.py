"""What a client of AG-UI answers: `resume`, and messages with the results of its own tools.

The rule of this file: see `surfaces/answers.py`. A question that was left (`cancelled`) is a no.

Source: https://docs.ag-ui.com/spec/1.0/basic/patterns/interrupt-resume.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.agent.approval import Pending, Reply
from headrace.surfaces.agui.request_in import AguiRequest
from headrace.surfaces.answers import Questions


def read_answers(request: AguiRequest, pending: Sequence[Pending]) -> tuple[Reply, ...]:
    """Return the answers that a request holds to the questions of a run.

    Args:
        request: the request.
        pending: what the run waits for.

    Raises:
        StateError: an answer is to no question that is open.
        UsageError: an answer is not clear.
    """
    questions = Questions(pending)
    for n, entry in enumerate(request.resume):
        place = f"resume[{n}]"
        question = questions.take(entry.interrupt_id, place)
        if entry.status == "cancelled":
            questions.replies.append(question.deny("nobody answered"))
        else:
            questions.decide(question, entry.payload, f"{place}.payload")
    for given in request.results:
        waiting = questions.external(given.call_key)
        if waiting is not None:
            questions.value(waiting, given.parts, given.error)
    return tuple(questions.replies)
