"""Types shared by the executor of a user's stack and its session."""

from pathlib import Path
from typing import NamedTuple

from gz_testauto.base.errors import SimulatorError
from gz_testauto.trial.setup import PreparedStack


class WorldUpdateError(SimulatorError):
    """The running stack cannot be prepared for the next trial, but a restarted one can."""


class StackSessionSettings(NamedTuple):
    """The settings that a session receives first."""

    campaign: PreparedStack
    logs: Path
    bags: Path
