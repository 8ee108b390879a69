"""The base of every specification, and the field types that specifications share.

Owns what "frozen, strict and explicit" means: an unknown key is an error, a quoted number is
not a number, and a path is absolute once read. Refuses to know any one specification.
"""

import contextlib
import os
import re
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from pathlib import Path
from typing import Any, Iterator, List, Mapping, Sequence, Tuple, Type

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationInfo,
)
from pydantic_core import PydanticCustomError
from typing_extensions import Annotated, Self

from gz_testauto.base import resources
from gz_testauto.base.errors import (
    GzTestautoError,
    MissingDependencyError,
    ParameterError,
    PluginError,
    SpecError,
)
from gz_testauto.base.pose import Pose2D

_ENVIRONMENT = re.compile(r"\$\(env\s+([A-Za-z_]\w*)\s*\)")


class Spec(BaseModel):
    """A frozen record read from YAML. An unknown key is an error, never ignored.

    Types are strict: ``"8"`` is not a number and ``yes`` is not a name.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, protected_namespaces=()
    )

    @classmethod
    def kind_of(cls, data: Mapping[str, Any]) -> Type[Self]:
        """What ``data`` is to be read as: this, or the kind of it that ``data`` chooses. Chosen
        before anything is validated, a kind's errors are the only ones said."""
        return cls


@dataclass(frozen=True, eq=False)
class Place:
    """The place of a specification in a YAML file: the name of the file, the specification's path
    of fields, its line, and the lines of the fields below it. Any two are equal, because two
    specifications are equal wherever they are."""

    file: str = ""
    path: str = ""
    line: int = 0
    lines: Mapping[str, int] = dataclass_field(default_factory=dict)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Place)

    def __hash__(self) -> int:
        return 0

    def of(self, field: str) -> str:
        """Return ``file:line: path.of.field`` for the field of a specification, which may be below
        another one (``parameters.rays``); empty for a specification that is not from a file."""
        if not self.file:
            return ""
        line = self.lines.get(field, self.lines.get(field.partition(".")[0], self.line))
        return f"{self.file}:{line}: {'.'.join(filter(None, (self.path, field)))}"


class LocatedSpec(Spec):
    """A specification that names a plug-in. It keeps its place in its file, for errors that are
    found when the plug-in is constructed."""

    _place: Place = PrivateAttr(default_factory=Place)

    @contextlib.contextmanager
    def locating(self, name: str, parameters: str) -> Iterator[None]:
        """Put file, line and field before the message of an error that a plug-in's construction
        raises. ``name`` and ``parameters`` are the fields with the plug-in's."""
        try:
            yield
        except (SpecError, PluginError, MissingDependencyError) as error:
            field = f"{parameters}.{error.parameter}" if isinstance(error, ParameterError) else name
            place = self._place.of(field)
            error.args = (f"{place}: {error.full}" if place else error.full,)
            raise


def resolve_path(value: Any, info: ValidationInfo) -> Any:
    """Make a path absolute, as seen from the file that is being read (context ``source``), with
    ``$(env NAME)`` replaced as roslaunch does."""
    if not isinstance(value, str):
        return value
    value = _ENVIRONMENT.sub(_variable, value)
    source = (info.context or {}).get("source")
    if source is None:  # built in code, not read from a file: taken as it is
        return Path(value)
    try:
        path = resources.resolve(value, Path(source))
    except GzTestautoError as error:
        raise PydanticCustomError("path", "{reason}", {"reason": str(error)}) from error
    if not os.path.exists(path):
        looked = "" if str(path) == value else f" (looked for {path})"
        reason = f'is "{value}"; there is no such file{looked}'
        raise PydanticCustomError("predicate", "{reason}", {"reason": reason})
    return path


def _variable(match: "re.Match[str]") -> str:
    name = match.group(1)
    if not os.environ.get(name):
        reason = f"names the environment variable {name}, which is not set; export {name}=..."
        raise PydanticCustomError("predicate", "{reason}", {"reason": reason})
    return os.environ[name]


def repeated(names: Sequence[str]) -> List[str]:
    """The names that stand more than once, sorted."""
    return sorted({name for name in names if names.count(name) > 1})


def as_tuple(value: Any) -> Any:
    """A list as a tuple, which strict validation does not take it for."""
    return tuple(value) if isinstance(value, list) else value


SpecPath = Annotated[Path, BeforeValidator(resolve_path)]
"""A file or directory: absolute, relative to the file that names it, ``package://`` or
``file://``; ``$(env NAME)`` in it is the environment variable. Absolute once loaded."""

LARGEST = 1e6
"""No coordinate or size (m) is larger: farther out, 32-bit numbers of simulators tell no
centimeters apart, and areas and volumes of what is 1e300 m long are no numbers."""

Bounded = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]
"""A coordinate, a size, or another number that is drawn or measured in a world."""

Point = Annotated[Tuple[Bounded, Bounded], BeforeValidator(as_tuple)]
"""``[x, y]`` in meters."""

Interval = Annotated[Tuple[Bounded, Bounded], BeforeValidator(as_tuple)]
"""``[lowest, highest]``."""


class PoseSpec(Spec):
    """A planar pose in the world (map) frame: meters and radians."""

    x_m: Bounded
    y_m: Bounded
    yaw_rad: Bounded = 0.0

    @property
    def pose(self) -> Pose2D:
        """The same as the value that the rest of the package passes around."""
        return Pose2D(self.x_m, self.y_m, self.yaw_rad)


class ViaSpec(Spec):
    """What has a goal, and may have others before it."""

    via: List[PoseSpec] = Field(default_factory=list)
    """Goals before the goal, which the robot has to reach first, in this order; none unless
    given."""
