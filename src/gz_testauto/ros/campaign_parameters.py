"""What a campaign over ROS is told by parameters: which campaign, which part of it, where to.

Read by the campaign node and, for what the simulator is to be, by the simulator node.
"""

from pathlib import Path
from typing import Optional, Tuple

import rospy

from gz_testauto.base.errors import SpecError
from gz_testauto.campaign.simulator import with_simulator
from gz_testauto.ros import parameters
from gz_testauto.spec.campaign import BuiltinCampaignSpec, CampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.trial.plan import Selection


def read_campaign(on_stack: bool) -> CampaignSpec:
    """The campaign that ``~campaign`` names. Raises ``SpecError`` unless it is ``on_stack``, or is
    not, as the launch file was told."""
    if not on_stack:
        return read_builtin_campaign()
    path, spec = _read()
    if isinstance(spec, BuiltinCampaignSpec):
        raise SpecError(f"{path}: has no stack; leave stack:=true out")
    simulator = parameters.read("simulator", str, "")
    return with_simulator(spec, simulator) if simulator else spec


def read_builtin_campaign() -> BuiltinCampaignSpec:
    """The campaign of this package's planners that ``~campaign`` names, with ``~simulator`` in
    place of its own. Raises ``SpecError`` for another."""
    path, spec = _read()
    if not isinstance(spec, BuiltinCampaignSpec):
        raise SpecError(f"{path}: has stack, which starts its own simulator; add stack:=true")
    return with_simulator(spec, parameters.read("simulator", str, ""))


def _read() -> Tuple[Path, CampaignSpec]:
    path = parameters.read_path("campaign")
    if path is None:
        raise SpecError(f"parameter {rospy.resolve_name('~campaign')} is empty; give a YAML file")
    return path, load(path, CampaignSpec)


def read_selection() -> Selection:
    """``~worlds`` (0: all) and ``~planners`` (names with commas or spaces between; empty: all)."""
    worlds: Optional[int] = parameters.read("worlds", int, 0) or None
    names = parameters.read("planners", str, "").replace(",", " ").split()
    planners: Optional[Tuple[str, ...]] = tuple(names) or None
    return Selection(worlds=worlds, planners=planners)


def output_directory(spec: CampaignSpec) -> Path:
    """``~out``, relative to where the user stands; ``results/<campaign>`` there unless set."""
    out = parameters.read("out", str, "") or f"results/{spec.name}"
    return parameters.user_directory() / Path(out).expanduser()
