"""The words in braces that stand in launch arguments for what differs from trial to trial.

Owns which there are and how a text is filled in. Their values come from the campaign
(:mod:`gz_testauto.trial.launch_files`).
"""

import re
from typing import Mapping

from gz_testauto.base.errors import UnknownNameError
from gz_testauto.base.registry import unknown_name

PLACEHOLDERS = {
    "world": "the trial's .world file, obstacles included",
    "world_name": "its name",
    "map": "map_server's YAML of the known map, without the random obstacles",
    "start_x": "where the robot starts (m, world frame)",
    "start_y": "the same (m)",
    "start_yaw": "the same (rad)",
    "goal_x": "the goal, of several the last (m, world frame)",
    "goal_y": "the same (m)",
    "goal_yaw": "the same (rad)",
    "goal_tolerance": "how near is reached (m)",
    "seed": "the trial's seed, equal for all planners in a world",
    "robot": "robot.name, which the robot's model must bear in the simulator",
    "robot_model": "robot.model, empty where the campaign names none",
    "planner": "the planner's name",
    "trial": "the trial's name, fit for a file",
    "control_period": "control_period_s (s)",
    "logs": "a directory for what the trial's processes write",
}
"""Name → what it becomes."""

PER_TRIAL = ("world", "world_name", "seed", "trial", "logs")
"""Those in which two trials differ although the same launch would do for both: in a warm run
they have the values of the trial with which the launch was started."""

_WORD = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_]*)\}")


def fill(text: str, values: Mapping[str, object]) -> str:
    """``text`` with every ``{word}`` replaced; ``{{`` and ``}}`` become braces. Braces around
    anything but a word, as in ``{a: 1}``, stay. Raises ``UnknownNameError`` that lists the
    words there are."""

    def value(match: "re.Match[str]") -> str:
        word = match.group(1)
        if word is None:
            return match.group(0)[0]
        if word not in values:
            hint = unknown_name("placeholder", "{" + word + "}", ["{" + w + "}" for w in values])
            raise UnknownNameError(f"{hint}; braces that are meant are doubled")
        return str(values[word])

    return _WORD.sub(value, text)
