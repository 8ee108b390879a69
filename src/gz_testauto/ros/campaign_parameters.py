"""Parameters of a campaign over ROS: the campaign, the selected trials, the results directory.

The campaign node reads them, and so does the simulator node for its choice of the simulator.
"""

from pathlib import Path
from typing import Optional, Tuple

import rospy

from gz_testauto.base.errors import SpecError
from gz_testauto.campaign.simulator import with_simulator
from gz_testauto.ros import parameters
from gz_testauto.spec.campaign import BuiltinCampaignSpec, CampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.trial.plan import TrialSelection


def read_campaign(on_stack: bool) -> CampaignSpec:
    """Return the campaign of ``~campaign``. Raises ``SpecError`` if it uses a navigation stack and
    ``on_stack`` is false, or the reverse."""
    if not on_stack:
        return read_builtin_campaign()
    path, spec = _read()
    if isinstance(spec, BuiltinCampaignSpec):
        raise SpecError(f"{path}: has no stack; leave stack:=true out")
    simulator = parameters.read("simulator", str, "")
    return with_simulator(spec, simulator) if simulator else spec


def read_builtin_campaign() -> BuiltinCampaignSpec:
    """Return the campaign of ``~campaign`` with the simulator of ``~simulator``, if that is set.

    Raises ``SpecError`` if the campaign uses a navigation stack.
    """
    path, spec = _read()
    if not isinstance(spec, BuiltinCampaignSpec):
        raise SpecError(f"{path}: has stack, which starts its own simulator; add stack:=true")
    return with_simulator(spec, parameters.read("simulator", str, ""))


def _read() -> Tuple[Path, CampaignSpec]:
    path = parameters.read_path("campaign")
    if path is None:
        raise SpecError(f"parameter {rospy.resolve_name('~campaign')} is empty; set a YAML file")
    return path, load(path, CampaignSpec)


def read_selection() -> TrialSelection:
    """Return the selection of ``~worlds`` (0: all) and ``~planners`` (names separated by commas or
    spaces; empty: all)."""
    worlds: Optional[int] = parameters.read("worlds", int, 0) or None
    names = parameters.read("planners", str, "").replace(",", " ").split()
    planners: Optional[Tuple[str, ...]] = tuple(names) or None
    return TrialSelection(worlds=worlds, planners=planners)


def output_directory(spec: CampaignSpec) -> Path:
    """Return ``~out`` relative to the user's directory; the default is ``results/<campaign>``."""
    out = parameters.read("out", str, "") or f"results/{spec.name}"
    return parameters.user_directory() / Path(out).expanduser()
