"""Several operations as one, for a database at the end of a wire: what they ask for at the same time is asked for at once.

The rule of this file: only operations that touch different rows, and that refuse before they write, may go together. One that refuses
takes nothing of the others with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.errors import HeadraceError
from headrace.sessions.sql.operation import Make, Many, Operation, Several, Statement, T, Touched


def together(makes: Sequence[Make[T]]) -> Operation[list[T | HeadraceError]]:
    """Carry operations out side by side; returns for each its result, or with what it refused."""
    outcomes: dict[int, Any] = {}
    waiting: dict[int, tuple[Operation[T], Any]] = {n: (make(), None) for n, make in enumerate(makes)}
    while waiting:
        asked: dict[int, tuple[Operation[T], Statement | Many]] = {}
        for n, (operation, answer) in waiting.items():
            try:
                step = operation.send(answer)
                while isinstance(step, Touched):
                    yield step
                    step = operation.send(None)
            except StopIteration as end:
                outcomes[n] = end.value
            except HeadraceError as error:
                outcomes[n] = error
            else:
                assert isinstance(step, (Statement, Many)), "who brings work of its own goes alone"
                asked[n] = operation, step
        if not asked:
            break
        answers = yield Several([step for _, step in asked.values()])
        waiting = {n: (operation, answer) for (n, (operation, _)), answer in zip(asked.items(), answers, strict=True)}
    return [outcomes[n] for n in range(len(makes))]
