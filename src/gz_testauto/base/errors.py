"""Every error that a user can cause or meet, as one small hierarchy.

A message says where, what was wrong and how to mend it. These errors are caught at the
boundary only, in the command line and in the nodes, where a known error becomes one line
and exit status 2; anything else is a bug and keeps its traceback. How a trial *ended*
(collided, timed out, ...) is a result and never an error.
"""

import traceback

from gz_testauto.base.truncation import truncate


class GzTestautoError(Exception):
    """Base of all errors that this package raises on purpose.

    As text it is no longer than somebody reads; ``full`` is all of it.
    """

    @property
    def full(self) -> str:
        """The message as it was raised."""
        return super().__str__()

    def __str__(self) -> str:
        return truncate(self.full)


class SpecError(GzTestautoError):
    """A campaign, obstacle or planner description is wrong."""


class UnknownNameError(SpecError):
    """A plugin, entity or parameter was requested by a name that does not exist."""


class SdfError(GzTestautoError):
    """An SDF file cannot be read, or says something that cannot be represented."""


ALLOW_MISSING_HINT = "a world can be read without it (--allow-missing)"
"""The remedy for a missing file that commands with the option ``--allow-missing`` offer."""


class MissingFileError(SdfError):
    """A file that an SDF file references is missing; ends with :data:`ALLOW_MISSING_HINT`."""

    @property
    def without_hint(self) -> str:
        """The message without that remedy, for commands that do not offer it."""
        return self.full.replace(f"; {ALLOW_MISSING_HINT}", "")


class ResourceError(GzTestautoError):
    """A file, model or package was named that is not where its name says."""


class PlacementError(GzTestautoError):
    """Obstacles do not fit where they were asked to go."""


class SimulatorError(GzTestautoError):
    """The simulator died, stalled or refused: a trial that meets this is invalid."""


class SceneError(SimulatorError):
    """The scene is at fault, and the simulator would show the same again: it is not tried again."""


class NavigatorError(GzTestautoError):
    """The navigation under test could not be reached or started."""


class MasterError(GzTestautoError):
    """The ROS master has gone, and with it the graph that everything runs on."""


class LostTrialsError(GzTestautoError):
    """No trial of a campaign has been valid, for a cause that will stop the others as well."""


class ResultsError(GzTestautoError):
    """A results directory belongs to another campaign, is in use, or is damaged."""


class DiskError(GzTestautoError):
    """A file cannot be written: no space is left, or the place does not allow it."""


class MissingDependencyError(GzTestautoError):
    """Something this machine does not have is needed; the message says how to get it."""


class PluginError(GzTestautoError):
    """A plug-in raised an exception that is neither a refusal nor a missing dependency: a bug."""

    @classmethod
    def of(cls, failure: str, error: Exception) -> "PluginError":
        """Append type, text and place of an exception to ``failure``, which names the plug-in."""
        frames = traceback.extract_tb(error.__traceback__)
        inside = frames and not isinstance(error, SyntaxError)  # whose text has its place
        place = f" ({frames[-1].filename}:{frames[-1].lineno})" if inside else ""
        return cls(f"{failure}: {type(error).__name__}: {error}{place}")
