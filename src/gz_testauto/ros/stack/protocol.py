"""What the executor on a user's stack and its session say to each other."""

from pathlib import Path
from typing import NamedTuple

from gz_testauto.base.errors import SimulatorError
from gz_testauto.trial.setup import PreparedStack


class CannotSwap(SimulatorError):
    """What runs cannot be made ready for the next trial; what is started anew can."""


class StackSessionSettings(NamedTuple):
    """What a session is told first."""

    campaign: PreparedStack
    logs: Path
    bags: Path
