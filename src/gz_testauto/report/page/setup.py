"""What was run, in a few lines: the robot, when a trial ends, and what each planner is.

Owns the wording. All of it is said by the campaign; a campaign that cannot be read has none.
"""

import textwrap
from pathlib import Path
from typing import List, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.spec.actors import ActorSpec
from gz_testauto.spec.campaign import (
    BuiltinPlannerSpec,
    CampaignSpec,
    PlannerSpec,
    StackCampaignSpec,
    StackPlannerSpec,
)
from gz_testauto.spec.companions import CompanionSpec
from gz_testauto.spec.tracking import TrackingSpec

LONGEST = 240
"""Characters of a planner's parameters; ``campaign.json`` has them all."""


def setup(spec: Optional[CampaignSpec], footprint_m: Optional[np.ndarray]) -> List[Tuple[str, str]]:
    """What it is about and what is to be known of it, a row each; ``footprint_m`` is the robot's
    outline, shape (n, 2)."""
    if spec is None:
        return []
    limits = spec.limits
    rows = [
        ("robot", _robot(spec, footprint_m)),
        ("reached", f"the robot's base is within {spec.goal.tolerance_m:g} m of the goal"),
        ("timed out", f"not reached in {limits.timeout_s:g} s of simulated time"),
        (
            "stuck",
            f"for {limits.stuck_window_s:g} s nowhere as far as {limits.stuck_distance_m:g} m from "
            "where it is then",
        ),
    ]
    if spec.robots:
        rows.append(("beside it", _listed([_companion(one) for one in spec.robots])))
    if spec.actors:
        rows.append(("moving", _listed([_actor(one) for one in spec.actors])))
    if spec.tracking is not None:
        rows.append(("tracking", _tracking(spec.tracking)))
    if spec.has_road:
        rows.append(("road", "lanes and a route; planners that know of none have its way-points"))
    if spec.worlds.dynamic:
        rows.append(("moving", "what has a behavior in the scenario"))
    if spec.randomize:
        rows.append(("drawn", _listed([f"{one.name} ({one.term})" for one in spec.randomize])))
    return rows + [(f"planner {one.name}", _planner(spec, one)) for one in spec.planners]


def length_note(spec: Optional[CampaignSpec]) -> str:
    """Why a length may be less than the shortest path; empty where the campaign is not known."""
    if spec is None:
        return ""
    return (
        "A length may be less than the shortest path: a drive ends as soon as it is within "
        f"{spec.goal.tolerance_m:g} m of the goal, the shortest path at the goal itself, and it "
        "leaves room everywhere for the circle around the robot."
    )


def _actor(actor: ActorSpec) -> str:
    several = f"{actor.count} × " if actor.count > 1 else ""
    return f"{several}{actor.name} ({actor.behavior})"


def _tracking(tracking: TrackingSpec) -> str:
    """What planners that ask are told."""
    said = tracking.model_dump(exclude_defaults=True)
    if not said:
        return "planners that ask are told the truth about who moves, and where they will be"
    flat = {**said.pop("noise", {}), **said}
    return "planners that ask are told who moves: " + ", ".join(
        f"{name} {value}" for name, value in flat.items()
    )


def _companion(robot: CompanionSpec) -> str:
    return f"{robot.name} ({robot.planner or 'the planner under test'})"


def _listed(names: Sequence[str]) -> str:
    return textwrap.shorten(", ".join(names), LONGEST)


def _robot(spec: CampaignSpec, footprint_m: Optional[np.ndarray]) -> str:
    robot = spec.robot
    said = robot.name
    if robot.model is not None:
        model = Path(robot.model)
        said += f" ({model.parent.name if model.stem == 'model' else model.stem})"
    if footprint_m is not None:
        length_m, width_m = np.ptp(footprint_m, axis=0)
        said += f", {length_m:.2f} m long and {width_m:.2f} m wide"
    return f"{said}, at most {robot.max_linear_mps:g} m/s and {robot.max_angular_radps:g} rad/s"


def _planner(spec: CampaignSpec, planner: PlannerSpec) -> str:
    if isinstance(spec, StackCampaignSpec) and isinstance(planner, StackPlannerSpec):
        launch = spec.navigation(planner)
        said, given = f"launch file {launch.named}", launch.args
    elif isinstance(planner, BuiltinPlannerSpec):
        said, given = f"plugin {planner.plugin}", planner.parameters
    else:
        return ""
    named = ", ".join(f"{name} {value}" for name, value in given.items())
    return textwrap.shorten(f"{said}, {named or 'default values'}", LONGEST)
