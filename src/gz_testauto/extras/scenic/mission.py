"""Write the mission of a scene, the poses of its mission items, in GzScenic's format.

The format is the YAML ``{type: [{heading, x, y, z}]}``, with items in the order of the scenario.
``heading`` is ROS's yaw (rad) of the item, whose front is +x unless ``front`` is ``y`` in the
descriptor. ``z`` is the height (m) of the surface below the item, or the descriptor's.
"""

from typing import Any, Dict, List, Mapping, Sequence, Tuple

import yaml

from gz_testauto.extras.scenic.library import PlacedModel
from gz_testauto.extras.scenic.names import SceneName
from gz_testauto.extras.scenic.world_file import model_pose

FREE_M = 1e-9
DIGITS = 12
"""Digits of meters and radians; further digits are rounding errors."""

Mission = Dict[str, List[Dict[str, float]]]


def mission_of(
    objects: Sequence[Tuple[SceneName, Any]], models: Mapping[str, PlacedModel]
) -> Mission:
    """Return the mission items of a scene, by their names in the descriptor."""
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
    """Return the mission as YAML."""
    text: str = yaml.safe_dump(
        mission, sort_keys=True, default_flow_style=False, allow_unicode=True
    )
    return text.encode()
