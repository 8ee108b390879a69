"""Placeholders in launch arguments: words in braces for values that differ between trials.

Defines the names of placeholders and their replacement. The values come from the campaign
(:mod:`gz_testauto.trial.launch_files`).
"""

import re
from typing import Mapping

from gz_testauto.base.errors import UnknownNameError
from gz_testauto.base.registry import unknown_name

PLACEHOLDERS = {
    "world": "the trial's .world file, obstacles included",
    "world_name": "the name of the world",
    "map": "map_server's YAML of the static map, without the random obstacles",
    "start_x": "x of the robot's start (m, world frame)",
    "start_y": "y of the robot's start (m)",
    "start_yaw": "yaw of the robot's start (rad)",
    "goal_x": "x of the goal, the last of several (m, world frame)",
    "goal_y": "y of the goal (m)",
    "goal_yaw": "yaw of the goal (rad)",
    "goal_tolerance": "the goal's tolerance (m)",
    "seed": "the trial's seed, equal for all planners in a world",
    "robot": "robot.name, the name of the robot's model in the simulator",
    "robot_model": "robot.model, empty if the campaign has none",
    "planner": "the planner's name",
    "trial": "the trial's name, valid as a file name",
    "control_period": "control_period_s (s)",
    "logs": "a directory for the files of the trial's processes",
}
"""Each placeholder with its meaning."""

PER_TRIAL = ("world", "world_name", "seed", "trial", "logs")
"""The placeholders that differ between trials of one launch. In a warm run they keep the values of
the trial with which the launch was started."""

_WORD = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_]*)\}")


def fill(text: str, values: Mapping[str, object]) -> str:
    """Return ``text`` with every ``{word}`` replaced; ``{{`` and ``}}`` become braces. Other
    braces, as in ``{a: 1}``, do not change. Raises ``UnknownNameError`` with the known
    placeholders."""

    def value(match: "re.Match[str]") -> str:
        word = match.group(1)
        if word is None:
            return match.group(0)[0]
        if word not in values:
            hint = unknown_name("placeholder", "{" + word + "}", ["{" + w + "}" for w in values])
            raise UnknownNameError(f"{hint}; write literal braces twice")
        return str(values[word])

    return _WORD.sub(value, text)
