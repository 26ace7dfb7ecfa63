"""Runs on DBOS, a durable engine: on one machine or on many. `pip install 'headrace[durable]'`.

Importing this without the extra raises `MissingExtraError`.
"""

from headrace.errors import MissingExtraError

try:
    import dbos as _dbos
except ImportError as error:
    raise MissingExtraError("durable", feature="runs on DBOS", module="dbos") from error

from headrace.durable.database import Database
from headrace.durable.pace import Pace
from headrace.durable.runs import DurableRuns
from headrace.durable.system import is_stuck

__all__ = ["Database", "DurableRuns", "Pace", "is_stuck"]
del _dbos
