"""The two steps of an await, taken apart: what is there already, and the wait for what is not.

The rule of this file: whoever takes from a generator can tell an item that is there from one that has to be waited for, without a task, a
queue or a timer for an item. So what came together leaves together, and nothing that came waits for what has not.

    step = items.__anext__().__await__()
    try:
        waiting = step.send(None)
    except StopIteration as got:
        item = got.value                          # was there
    else:
        ...                                       # is not there: time to send what is
        item = await Resumed(step, waiting)

PEP 492 says what `send` and `throw` of an awaitable's iterator do.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Resumed(Generic[T]):
    """The rest of a step that was begun by hand; awaiting it gives what the step gives."""

    def __init__(self, step: Generator[Any, Any, T], waiting: Any, error: BaseException | None = None) -> None:
        """Take a step over.

        Args:
            step: the iterator of the awaitable.
            waiting: what it gave when it could not go on.
            error: what happened meanwhile, which ends the wait; the step may clean up, and say otherwise.
        """
        self._step = step
        self._waiting = waiting
        self._error = error

    def __await__(self) -> Generator[Any, Any, T]:
        """Wait as the step itself would, cancellation included."""
        step, waiting, error = self._step, self._waiting, self._error
        while True:
            try:
                if error is not None:
                    waiting, error = step.throw(error), None
                sent = yield waiting
            except StopIteration as got:
                value: T = got.value
                return value
            except GeneratorExit:
                step.close()
                raise
            except BaseException as raised:
                if error is not None:  # the step let it through
                    raise
                error = raised
                continue
            try:
                waiting = step.send(sent)
            except StopIteration as got:
                result: T = got.value
                return result
