"""A campaign of two worlds whose trials end as is known on paper, for conformance suites, and one
of a drive to several goals.

The robot starts at x = -3 m and its goal is at x = 3 m, tolerance 0.5 m. In ``clear`` nothing is
in between, so a planner that drives straight at the goal reaches it; in ``blocked`` a box of 0.4 m,
which the known map does not show, stands at the origin. ``several`` is ``clear`` with the goals of
:data:`PLACES` before, straight ahead as well.
"""

from pathlib import Path

from gz_testauto.base.resources import share_directory
from gz_testauto.campaign.world_source import gather_worlds
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import parse
from gz_testauto.trial.setup import PreparedCampaign, prepare, read_body

CLEAR, BLOCKED, SEVERAL = "clear", "blocked", "several"
PLACES = ((-1.0, 0.0), (1.0, 0.0), (3.0, 0.0))
"""The goals of ``several``, in order (m)."""
WAY_M = 5.5
"""From the start to the nearest place that counts as the goal."""
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
    """The campaign, its worlds in ``directory``; ``planners`` is YAML that names one planner, which
    drives straight at the goal, and what else of a campaign it needs. With ``several`` that is a
    third world."""
    worlds = directory / "worlds"
    worlds.mkdir(parents=True)
    room = (share_directory() / "worlds" / "room.world").read_text(encoding="utf-8")
    blocked = room.replace("</world>", f"{_BOX}</world>")
    (worlds / "clear.world").write_text(room, encoding="utf-8")
    (worlds / "blocked.world").write_text(blocked, encoding="utf-8")
    files = f"{_FILES}, {_SEVERAL}" if several else _FILES
    text = _CAMPAIGN.format(repetitions=repetitions, files=files) + planners
    spec = parse(text, CampaignSpec, directory / "conformance.yaml")
    robot = read_body(spec)
    records = gather_worlds(spec, robot, directory / "copies")
    return prepare(spec, robot, records)
