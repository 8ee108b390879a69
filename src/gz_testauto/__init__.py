"""Monte Carlo testing of mobile-robot navigation in Gazebo.

In a notebook::

    import gz_testauto

    results = gz_testauto.run("example", "results/first")
    results.trials.to_pandas()
    results.trajectories.to_pandas()
    results.plot("world_0003")

:class:`~gz_testauto.campaign.trial_runner.TrialRunner` runs single trials. ``docs/architecture.md``
describes the packages.
"""

from importlib import import_module
from pkgutil import extend_path
from typing import Any, List

# The messages are generated into another directory, which catkin's own package of this name in
# the development space finds; processes that are started by ours come here without it.
__path__ = extend_path(__path__, __name__)

__version__ = "1.0.0"

BITS_VERSION = 2
"""Number of the bits of worlds and trials: the same campaign with the same versions of libraries
and simulator gives the same bits, unless this number differs. ``test_bits_version.py`` compares it
with the stored score cards. Version 1 is that of results without a number."""

_NAMES = {
    "GzTestautoError": "gz_testauto.base.errors",
    "TrialRunner": "gz_testauto.campaign.trial_runner",
    "RandomNumbers": "gz_testauto.spec.worlds",
    "Results": "gz_testauto.notebook.results",
    "compare": "gz_testauto.notebook.results",
    "load": "gz_testauto.notebook.results",
    "run": "gz_testauto.notebook.running",
}
"""The modules of the names for notebooks, which are imported when a name is used first. Their types
are in ``__init__.pyi``."""

__all__ = sorted(_NAMES)


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'gz_testauto' has no attribute {name!r}")
    return getattr(import_module(_NAMES[name]), name)


def __dir__() -> List[str]:
    return sorted({*globals(), *_NAMES})
