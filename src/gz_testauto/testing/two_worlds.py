"""A campaign for conformance suites: two worlds whose trials have known outcomes, and a trial with
several goals.

The robot starts at x = -3 m and its goal is at x = 3 m, with a tolerance of 0.5 m. In the world
``clear``, the straight line is free. In the world ``blocked``, a box of 0.4 m that the static map
does not contain is located at the origin. The trial ``several`` takes place in the world ``clear``,
with the goals :data:`PLACES`.
"""

from pathlib import Path

from gz_testauto.base.resources import share_directory
from gz_testauto.campaign.world_source import gather_worlds
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import parse
from gz_testauto.trial.plan import PreparedCampaign
from gz_testauto.trial.testbed import bed_of, read_body

CLEAR, BLOCKED, SEVERAL = "clear", "blocked", "several"
PLACES = ((-1.0, 0.0), (1.0, 0.0), (3.0, 0.0))
"""The goals (m) of the trial ``several``, in order."""
WAY_M = 5.5
"""Distance (m) from the start to the nearest position within the tolerance of the goal."""
OBSTACLE = "obstacle_box_0"

STRAIGHT = "planners: [straight]"

_SHAPE = "<geometry><box><size>0.4 0.4 1.2</size></box></geometry>"
_BOX = f"""<model name="{OBSTACLE}"><static>true</static><pose>0 0 0.6 0 0 0</pose>
<link name="link">
<collision name="collision">{_SHAPE}</collision><visual name="visual">{_SHAPE}</visual>
</link></model>
"""

_CAMPAIGN = """
name: conformance
seed: 1
repetitions: {repetitions}
worlds: {{directory: worlds, files: [{files}]}}
robot:
  model: package://gz_testauto/models/wheelchair/model.sdf
  start: {{x_m: -3.0, y_m: 0.0, yaw_rad: 0.0}}
goal: {{x_m: 3.0, y_m: 0.0, tolerance_m: 0.5}}
limits: {{timeout_s: 30.0, stuck_window_s: 10.0, stall_timeout_s: 120.0}}
"""


_FILES = "{file: clear.world}, {file: blocked.world}"
_SEVERAL = "{file: clear.world, name: several, via: [{x_m: -1.0, y_m: 0.0}, {x_m: 1.0, y_m: 0.0}]}"


def two_worlds(
    directory: Path, planners: str = STRAIGHT, repetitions: int = 1, several: bool = False
) -> PreparedCampaign:
    """Return the campaign, whose worlds are written to ``directory``. ``planners`` is YAML text
    that specifies a planner that drives straight to the goal, and any other campaign keys that it
    needs. With ``several``, the campaign contains a third trial, with several goals."""
    worlds = directory / "worlds"
    worlds.mkdir(parents=True)
    room = (share_directory() / "worlds" / "room.world").read_text(encoding="utf-8")
    blocked_world = room.replace("</world>", f"{_BOX}</world>")
    (worlds / "clear.world").write_text(room, encoding="utf-8")
    (worlds / "blocked.world").write_text(blocked_world, encoding="utf-8")
    files = f"{_FILES}, {_SEVERAL}" if several else _FILES
    text = _CAMPAIGN.format(repetitions=repetitions, files=files) + planners
    spec = parse(text, CampaignSpec, directory / "conformance.yaml")
    robot = read_body(spec)
    records = gather_worlds(spec, robot, directory / "copies")
    return PreparedCampaign(bed_of(spec, robot), records)
