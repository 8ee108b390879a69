"""The mission of a scene: where its mission items are, as GzScenic wrote it.

Owns that YAML: ``{type: [{heading, x, y, z}]}``, items in the order of the scenario. ``heading`` is
ROS's yaw (rad): the item's front, +x unless the descriptor says ``front: y``, looks there; ``z`` is
the height (m) on which the item stands, or the descriptor's.
"""

from typing import Any, Dict, List, Mapping, Sequence, Tuple

import yaml

from gz_testauto.extras.scenic.library import PlacedModel
from gz_testauto.extras.scenic.names import SceneName
from gz_testauto.extras.scenic.world_file import model_pose

FREE_M = 1e-9
DIGITS = 12
"""Of meters and radians: what is beyond is rounding."""

Mission = Dict[str, List[Dict[str, float]]]


def mission_of(
    objects: Sequence[Tuple[SceneName, Any]], models: Mapping[str, PlacedModel]
) -> Mission:
    """The mission items of a scene, by the names of the descriptor."""
    mission: Mission = {}
    for _, obj in objects:
        model = models.get(obj.gz_model) if obj.gz_model is not None else None
        if model is None or not model.spec.mission_only:
            continue
        pose = model_pose(obj, model)
        x, y, z = pose.position
        foot = z - float(obj.restHeight)
        if model.spec.z is None or abs(foot - model.spec.z) > FREE_M:
            foot -= float(obj.contactTolerance) / 2
        values = {"heading": pose.yaw_rad, "x": x, "y": y, "z": foot}
        mission.setdefault(model.spec.name, []).append(
            {key: round(value, DIGITS) + 0.0 for key, value in values.items()}
        )
    return mission


def mission_bytes(mission: Mission) -> bytes:
    """The mission as YAML."""
    text: str = yaml.safe_dump(
        mission, sort_keys=True, default_flow_style=False, allow_unicode=True
    )
    return text.encode()
