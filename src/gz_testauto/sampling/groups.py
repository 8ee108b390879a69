"""The obstacle kind ``group``: one model with parts of other kinds, such as a table with chairs."""

from pathlib import Path
from typing import Any, Iterator, List, Tuple, cast

from lxml import etree
from pydantic import BeforeValidator, Field, ValidationInfo, model_validator
from typing_extensions import Annotated, Literal

from gz_testauto.base.pose import Pose2D
from gz_testauto.base.xml_file import parse_xml
from gz_testauto.sampling.kinds import ScaledObstacles
from gz_testauto.sampling.models import ObstacleKind, ObstacleModel, set_static
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.scene import read_scene
from gz_testauto.spec.distributions import is_constant
from gz_testauto.spec.obstacles import AnyObstacles, StepSpec, as_kind

MOST_PARTS = 1000


def _parse_part(value: Any, info: ValidationInfo) -> Any:
    # The defaults are set in place, since the loader finds lines by the identity of the mapping.
    if isinstance(value, dict):
        for key, default in (("count", 1), ("x_m", 0.0), ("y_m", 0.0), ("yaw_rad", 0.0)):
            value.setdefault(key, default)
    return as_kind(value, info)


class GroupObstacles(ScaledObstacles):
    """Obstacles of several parts, such as a table with four chairs or a row of pillars. A group is
    placed, rotated and scaled as a whole, and cannot be pushed."""

    type: Literal["group"]
    parts: List[Annotated[AnyObstacles, BeforeValidator(_parse_part)]] = Field(min_length=1)
    """The parts: entries of any obstacle kind with constant values. ``x_m``, ``y_m`` and
    ``yaw_rad`` (default: 0) are in the frame of the group. ``count`` (default: 1) repeats the part,
    each time moved by ``step``."""

    @model_validator(mode="after")
    def _require_constant_parts(self) -> "GroupObstacles":
        if self.model is not None:
            raise ValueError("a group has no model; add a part of type model, or remove model")
        if self.static is False:
            raise ValueError("a group cannot be pushed; remove static, or use single obstacles")
        for index, part in enumerate(self.parts):
            varied_keys = [name for name, value in part.sizes if value and not is_constant(value)]
            varied_keys += [
                name
                for name, value in (("x_m", part.x_m), ("y_m", part.y_m), ("yaw_rad", part.yaw_rad))
                if value is None or not is_constant(value)
            ]
            if part.count.min != part.count.max:
                varied_keys.append("count")
            if varied_keys:
                raise ValueError(
                    f"parts[{index}].{varied_keys[0]} is random; it must be constant. Set scale, "
                    "count, x_m, y_m and yaw_rad of the whole group to random values instead"
                )
            unused_keys = [
                name
                for name in ("name", "region", "static", "distance_m", "door_clear_m")
                if getattr(part, name, None) not in (None, {}, 0.0)
            ]
            if unused_keys:
                raise ValueError(
                    f"parts[{index}].{unused_keys[0]} has no effect; set {unused_keys[0]} of the "
                    "group"
                )
        count = sum(part.count.max for part in self.parts)
        if not 0 < count <= MOST_PARTS:
            raise ValueError(f"the group has {count} parts; it must have 1 to {MOST_PARTS}")
        return self

    @property
    def files(self) -> List[Path]:
        return [path for part in self.parts for path in part.files]

    def create_model(self) -> ObstacleModel:
        """Return a static model with each part as a nested model."""
        nested_models = []
        for number, (part, pose) in enumerate(self._parts_with_poses()):
            kind = cast(ObstacleKind, part)
            model = kind.create_model()
            size = tuple(
                model_value if value is None else value.support[0]
                for model_value, (_, value) in zip(model.size, part.sizes)
            )
            mass_kg = model.mass_of(size, getattr(part, "density_kgpm3", None))
            part_pose = pose.to_pose(model.height_of_frame_m(size))
            text = model.sdf(f"part_{number}", part_pose, size, mass_kg, False)
            nested_models.append(text)
        root = parse_xml(
            (
                '<sdf version="1.6"><model name="group"><pose>0 0 0 0 0 0</pose>'
                f"{''.join(nested_models)}</model></sdf>"
            ).encode()
        )
        self.write_static(root.find("model"), True)
        text = etree.tostring(root, encoding="unicode")
        document = SdfDocument.parse(text, f"group {self.label}")
        return ObstacleModel.of(
            self.type, next(iter(read_scene(document).models.values())), document
        )

    @classmethod
    def write_static(cls, element: Element, static: bool) -> None:
        # A static model does not fix its nested models.
        for model in element.iter("model"):
            set_static(model, static)

    def _parts_with_poses(self) -> "Iterator[Tuple[AnyObstacles, Pose2D]]":
        for part in self.parts:
            assert part.x_m is not None and part.y_m is not None, "checked above"
            values = (part.x_m, part.y_m, part.yaw_rad)
            pose = Pose2D(*(value.support[0] for value in values)).to_pose()
            step = part.step or StepSpec()
            step_pose = Pose2D(step.x_m, step.y_m, step.yaw_rad).to_pose()
            for _ in range(part.count.max):
                yield part, pose.planar
                pose = step_pose * pose
