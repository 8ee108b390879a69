"""What the executor on a user's stack and its session process say to each other, through a pipe."""

from pathlib import Path
from typing import NamedTuple

from gz_testauto.errors import SimulatorError
from gz_testauto.trial.setup import PreparedStack

DOING, RESULT, ERROR, BUG = "doing", "result", "error", "bug"
"""Kinds of answers: ``(kind, value)``."""


class CannotSwap(SimulatorError):
    """What runs cannot be made ready for the next trial; what is started anew can."""


class Setting(NamedTuple):
    """What a session is told first."""

    campaign: PreparedStack
    logs: Path
    bags: Path
