"""Summarize a stored campaign in a few lines: robot, termination rules, and planners."""

import textwrap
from pathlib import Path
from typing import Any, Iterator, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.planners.limits import value_for_robot
from gz_testauto.report.sources import Source
from gz_testauto.results.inputs import default_parameters
from gz_testauto.spec.actors import ActorSpec, TrackingSpec
from gz_testauto.spec.campaign import (
    BuiltinPlannerSpec,
    CampaignSpec,
    PlannerSpec,
    StackCampaignSpec,
    StackPlannerSpec,
)
from gz_testauto.spec.robot import CompanionSpec
from gz_testauto.trial.termination import TIPPED_S

LONGEST = 480  # shown characters of a planner's parameters


def setup(spec: Optional[CampaignSpec], footprint_m: Optional[np.ndarray]) -> List[Tuple[str, str]]:
    """Return the rows of the page's table of the robot and the campaign, each with a subject and
    its description. ``footprint_m`` is the robot's outline, shape (n, 2)."""
    if spec is None:
        return []
    limits = spec.limits
    rows = [
        ("robot", _robot_text(spec, footprint_m)),
        ("reached", f"the robot's base is within {spec.goal.tolerance_m:g} m of the goal"),
        ("timed out", f"not reached in {limits.timeout_s:g} s of simulated time"),
        (
            "stuck",
            f"always within {limits.stuck_distance_m:g} m of the present position for "
            f"{limits.stuck_window_s:g} s",
        ),
    ]
    if limits.max_tilt_rad is not None:
        rows.append(
            ("tipped over", f"tilted more than {limits.max_tilt_rad:g} rad for {TIPPED_S:g} s")
        )
    if limits.max_off_road_m is not None:
        rows.append(
            ("left road", f"a part of the robot was {limits.max_off_road_m:g} m from all lanes")
        )
    if spec.robots:
        rows.append(
            ("other robots", _names_text([_companion_text(robot) for robot in spec.robots]))
        )
    if spec.actors:
        rows.append(("moving", _names_text([_actor_text(actor) for actor in spec.actors])))
    if spec.tracking is not None:
        rows.append(("tracking", _tracking_text(spec.tracking)))
    if spec.localization is not None:
        localization = spec.localization
        rows.append(("localization", f"{localization.estimate} (scale {localization.scale:g})"))
    if spec.has_road:
        rows.append(("road", "lanes and a route; planners without lanes follow its waypoints"))
    if spec.worlds.has_agents:
        rows.append(("moving", f"the agents of worlds.{spec.worlds.source_name}"))
    if spec.randomize:
        rows.append(
            ("randomized", _names_text([f"{term.name} ({term.term})" for term in spec.randomize]))
        )
    if spec.effects:
        rows.append(
            (
                "effects",
                _names_text([f"{effect.name} ({effect.effect})" for effect in spec.effects]),
            )
        )
    if spec.hooks:
        rows.append(("hooks", _names_text([f"{hook.name} ({hook.hook})" for hook in spec.hooks])))
    return rows


def planner_rows(
    spec: Optional[CampaignSpec], source: Source, inputs: Mapping[str, str]
) -> List[Tuple[str, str]]:
    """Return one row per planner. It contains default parameters if the planner's code still has
    the hash in ``inputs``."""
    if spec is None:
        return []
    shown_names = {stored_name: name for name, stored_name in source.planners.items()}
    return [
        (f"planner {shown_names[planner.name]}", _planner_text(spec, planner, inputs))
        for planner in spec.planners
        if planner.name in shown_names
    ]


def length_note(spec: Optional[CampaignSpec]) -> str:
    if spec is None:
        return ""
    return (
        "A length can be less than the shortest path: a trial ends within "
        f"{spec.goal.tolerance_m:g} m of the goal, the shortest path at the goal itself, and the "
        "shortest path is free for the circumscribed circle of the robot."
    )


def _actor_text(actor: ActorSpec) -> str:
    count_text = f"{actor.count} × " if actor.count > 1 else ""
    return f"{count_text}{actor.name} ({actor.behavior})"


def _tracking_text(tracking: TrackingSpec) -> str:
    settings = tracking.model_dump(exclude_defaults=True)
    if not settings:
        return "planners can request exact poses and predictions of moving objects"
    flat = {**settings.pop("noise", {}), **settings}
    return "planners can request moving objects: " + ", ".join(
        f"{name} {value}" for name, value in flat.items()
    )


def _companion_text(robot: CompanionSpec) -> str:
    return f"{robot.name} ({robot.planner or 'the planner under test'})"


def _names_text(names: Sequence[str]) -> str:
    return textwrap.shorten(", ".join(names), LONGEST)


def _robot_text(spec: CampaignSpec, footprint_m: Optional[np.ndarray]) -> str:
    robot = spec.robot
    text = robot.name
    if robot.model is not None:
        model = Path(robot.model)
        text += f" ({model.parent.name if model.stem == 'model' else model.stem})"
    if footprint_m is not None:
        length_m, width_m = np.ptp(footprint_m, axis=0)
        text += f", {length_m:.2f} m long and {width_m:.2f} m wide"
    return f"{text}, at most {robot.max_linear_mps:g} m/s and {robot.max_angular_radps:g} rad/s"


def _planner_text(spec: CampaignSpec, planner: PlannerSpec, inputs: Mapping[str, str]) -> str:
    defaults: Mapping[str, Any] = {}
    if isinstance(spec, StackCampaignSpec) and isinstance(planner, StackPlannerSpec):
        launch = spec.navigation(planner)
        text, settings = f"launch file {launch.named}", launch.args
    elif isinstance(planner, BuiltinPlannerSpec):
        text, settings = f"plugin {planner.plugin}", planner.parameters
        known = default_parameters(planner.plugin, inputs)
        robot = spec.robot.max_linear_mps, spec.robot.max_linear_accel_mps2
        defaults = {
            name: value_for_robot(value, *robot)
            for name, value in known.items()
            if name not in settings
        }
    else:
        return ""
    parts = [text, *_setting_texts(settings)]
    if defaults:
        parts.append("default values: " + ", ".join(_setting_texts(defaults)))
    elif not settings:
        parts.append("default values")
    return textwrap.shorten(", ".join(parts), LONGEST)


def _setting_texts(settings: Mapping[str, Any]) -> Iterator[str]:
    for name, value in settings.items():
        yield f"{name} {value:.6g}" if isinstance(value, float) else f"{name} {value}"
