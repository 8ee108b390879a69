"""Compare the goal tolerance and the patience of move_base with the limits of the campaign."""

from typing import Any, Dict, Mapping

import rospy

LOCALIZER_ERROR_M = 0.1  # expected error of a localizer such as amcl during a trial
PARAMETER = "xy_goal_tolerance"
PATIENCE = "controller_patience"  # time (s) without a command before a recovery
ROUNDING_M = 1e-6


def move_base_parameters(node: str) -> Dict[str, Any]:
    """Return the parameters below the name of move_base's node, also those with default values."""
    parameters = rospy.get_param(node, {})
    return parameters if isinstance(parameters, dict) else {}


def tolerances_in(parameters: Mapping[str, Any], node: str) -> Dict[str, float]:
    """Return the goal tolerances (m) of move_base's local planners by parameter name, or only that
    of the active planner if it is known. ``node`` is the name of move_base's node."""
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


def recovery_warning(parameters: Mapping[str, Any], node: str, stuck_window_s: float) -> str:
    """Return a warning if a trial can end as stuck before move_base starts a recovery, else ""."""
    patience_s = parameters.get(PATIENCE)
    if not isinstance(patience_s, (int, float)) or patience_s < stuck_window_s:
        return ""
    if not parameters.get("recovery_behavior_enabled", True):
        return ""
    return (
        f"limits.stuck_window_s is {stuck_window_s:g}, but {node}/{PATIENCE} is {patience_s:g}: if "
        "the local planner finds no command, the trial can end as stuck before move_base starts a "
        f"recovery behavior. Set limits.stuck_window_s to more than {patience_s:g} plus the time "
        f"of a recovery, or lower {PATIENCE}"
    )
