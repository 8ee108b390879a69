"""Define the exceptions for errors of users and their environment.

The command line and the nodes catch them, print one line and exit with status 2. Any other
exception is a bug. The outcome of a trial is never an error.
"""

import traceback

from gz_testauto.base.truncation import truncate


class GzTestautoError(Exception):
    """Base class of the exceptions of this package; ``str()`` is truncated."""

    @property
    def full(self) -> str:
        return super().__str__()

    def __str__(self) -> str:
        return truncate(self.full)


class SpecError(GzTestautoError):
    """Raised if the specification of a campaign, of obstacles or of a planner is invalid."""


class ParameterError(SpecError):
    """Raised if a parameter of a plug-in is unknown, missing, of the wrong type or out of range."""

    def __init__(self, message: str, parameter: str = "") -> None:
        super().__init__(message)
        self.parameter = parameter


class UnknownNameError(SpecError):
    """Raised if no plug-in, model or parameter has the requested name."""


class SdfError(GzTestautoError):
    """Raised if an SDF file cannot be read, or contains an element that is not supported."""


ALLOW_MISSING_HINT = "a world can be read without it (--allow-missing)"


class MissingFileError(SdfError):
    """Raised if a file to which an SDF file refers is missing."""

    @property
    def without_hint(self) -> str:
        return self.full.replace(f"; {ALLOW_MISSING_HINT}", "")


class ResourceError(GzTestautoError):
    """Raised if a file, model or package does not exist at the specified location."""


class PlacementError(GzTestautoError):
    """Raised if obstacles do not fit into the specified region."""


class SimulatorError(GzTestautoError):
    """Raised if the simulator exits, stalls or rejects a request, which makes the trial invalid."""


def simulator_stalled(timeout_s: float, activity: str = "", details: str = "") -> SimulatorError:
    step = f" while {activity}" if activity else ""
    ending = f"; {details}" if details else ""
    return SimulatorError(
        f"the simulator stalled{step}: no progress for {timeout_s:g} s of wall time{ending}"
    )


class UnstablePhysicsError(SimulatorError):
    """Raised if the state of a simulated world has diverged."""


class SceneError(SimulatorError):
    """Raised if the scene causes a failure of the simulator, so that every attempt would fail."""


class SceneRejectedError(SimulatorError):
    """Raised if the simulator misses a plug-in or a file of the scene, or has other physics steps
    than the control period needs, so that every attempt would fail. Other scenes with the same
    fault would fail, too."""


class NavigatorError(GzTestautoError):
    """Raised if the navigation stack under test cannot be started or reached."""


class ConfigurationError(NavigatorError):
    """Raised if the configuration of the stack is wrong, so that every attempt would fail."""


class MasterError(GzTestautoError):
    """Raised if the ROS master has stopped."""


class LostTrialsError(GzTestautoError):
    """Raised if all trials so far are invalid, and the others would be for the same cause."""


class ResultsError(GzTestautoError):
    """Raised if a results directory contains a different campaign, is in use, or is damaged."""


class DiskError(GzTestautoError):
    """Raised if a file cannot be written, since the disk is full or the directory not writable."""


class MissingDependencyError(GzTestautoError):
    """Raised if a required package or program is not installed."""


class PluginError(GzTestautoError):
    """Raised if a plug-in raises an unexpected exception, which is a bug of the plug-in."""

    @classmethod
    def of(cls, failure: str, error: Exception) -> "PluginError":
        frames = traceback.extract_tb(error.__traceback__)
        has_frame = frames and not isinstance(error, SyntaxError)  # whose text states the location
        location = f" ({frames[-1].filename}:{frames[-1].lineno})" if has_frame else ""
        return cls(f"{failure}: {type(error).__name__}: {error}{location}")
