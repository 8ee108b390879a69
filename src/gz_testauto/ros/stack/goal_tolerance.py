"""Compare the goal tolerance of move_base, for the pose in tf, with that of the campaign."""

from typing import Any, Dict, Mapping

import rospy

LOCALIZER_ERROR_M = 0.1  # expected error of a localizer such as amcl during a trial
PARAMETER = "xy_goal_tolerance"
ROUNDING_M = 1e-6


def move_base_tolerances(node: str) -> Dict[str, float]:
    """Return the goal tolerances (m) of move_base's local planners by parameter name, or only that
    of the active planner if it is known. ``node`` is the name of move_base's node."""
    parameters = rospy.get_param(node, {})
    return tolerances_in(parameters if isinstance(parameters, dict) else {}, node)


def tolerances_in(parameters: Mapping[str, Any], node: str) -> Dict[str, float]:
    active = str(parameters.get("base_local_planner", "")).rpartition("/")[2]
    tolerances = {
        name: float(group[PARAMETER])
        for name, group in parameters.items()
        if isinstance(group, dict) and isinstance(group.get(PARAMETER), (int, float))
    }
    active_tolerances = {active: tolerances[active]} if active in tolerances else tolerances
    return {
        f"{node}/{name}/{PARAMETER}": value for name, value in sorted(active_tolerances.items())
    }


def tolerance_warning(
    tolerances_m: Mapping[str, float], goal_tolerance_m: float, localization_error_m: float
) -> str:
    """Return a warning if a tolerance of move_base plus the localization error exceeds the
    campaign's ``goal_tolerance_m``, else ""."""
    wide_tolerances = {
        name: value
        for name, value in tolerances_m.items()
        if value + localization_error_m > goal_tolerance_m + ROUNDING_M
    }
    if not wide_tolerances:
        return ""
    tolerance_list = " and ".join(f"{name} is {value:g}" for name, value in wide_tolerances.items())
    needed_m = max(wide_tolerances.values()) + localization_error_m
    return (
        f"goal.tolerance_m is {goal_tolerance_m:g}, but {tolerance_list}, and the pose in tf can "
        f"differ by {localization_error_m:.2f} m from the true pose: move_base can report the goal "
        "reached too early, and the trial then has the outcome false_arrival. Set goal.tolerance_m "
        f"to {needed_m:.2f} or more, or lower {PARAMETER}"
    )
