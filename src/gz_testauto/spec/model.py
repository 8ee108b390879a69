"""The base class of specifications, and common field types.

Defines the rules for all specifications: an unknown key is an error, a quoted number is not a
number, and a path is absolute once read. It does not depend on any specification.
"""

import contextlib
import os
import re
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from pathlib import Path
from typing import Any, Iterator, List, Mapping, Sequence, Tuple, Type

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationInfo,
    model_validator,
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

CLASSES = "classes"
"""Key in the context of a validation: a dict for the class of each mapping, by its ``id``."""

_ENVIRONMENT = re.compile(r"\$\(env\s+([A-Za-z_]\w*)\s*\)")


class Spec(BaseModel):
    """An immutable record that is read from YAML. An unknown key is an error.

    Types are strict: ``"8"`` is not accepted as a number, and ``yes`` is not accepted as a name.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, protected_namespaces=()
    )

    @classmethod
    def kind_of(cls, data: Mapping[str, Any]) -> Type[Self]:
        """Return the class that validates ``data``: this class, or a subclass that ``data``
        selects. The selection precedes the validation, so that only errors of the selected class
        are reported."""
        return cls

    @model_validator(mode="wrap")
    @classmethod
    def _store_class(cls, data: Any, handler: Any, info: ValidationInfo) -> Any:
        if info.context and CLASSES in info.context:
            info.context[CLASSES][id(data)] = cls
        return handler(data)


@dataclass(frozen=True, eq=False)
class YamlLocation:
    """The location of a specification in a YAML file: the file, the path of keys, the line, and the
    lines of its fields. All instances are equal, so that equal specifications can have different
    locations."""

    file: str = ""
    path: str = ""
    line: int = 0
    lines: Mapping[str, int] = dataclass_field(default_factory=dict)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, YamlLocation)

    def __hash__(self) -> int:
        return 0

    def of(self, field: str) -> str:
        """Return ``file:line: path.of.field`` for a field of a specification, or of a mapping in it
        (``parameters.rays``). Empty if the specification was not read from a file."""
        if not self.file:
            return ""
        line = self.lines.get(field, self.lines.get(field.partition(".")[0], self.line))
        return f"{self.file}:{line}: {'.'.join(filter(None, (self.path, field)))}"


class LocatedSpec(Spec):
    """A specification that names a plug-in and stores its own location in the YAML file. Errors of
    the plug-in's constructor report this location."""

    _location: YamlLocation = PrivateAttr(default_factory=YamlLocation)

    @contextlib.contextmanager
    def locating(self, name: str, parameters: str) -> Iterator[None]:
        """Return a context in which errors of a plug-in's constructor start with file, line and
        field. ``name`` and ``parameters`` are the fields of the plug-in."""
        try:
            yield
        except (SpecError, PluginError, MissingDependencyError) as error:
            field = f"{parameters}.{error.parameter}" if isinstance(error, ParameterError) else name
            location = self._location.of(field)
            error.args = (f"{location}: {error.full}" if location else error.full,)
            raise


def resolve_path(value: Any, info: ValidationInfo) -> Any:
    """Return an absolute path. A relative path is relative to the current file (context
    ``source``), and ``$(env NAME)`` is replaced as in roslaunch."""
    if not isinstance(value, str):
        return value
    value = _ENVIRONMENT.sub(_variable, value)
    source = (info.context or {}).get("source")
    if source is None:  # created in code, not read from a file
        return Path(value)
    try:
        path = resources.resolve(value, Path(source))
    except GzTestautoError as error:
        raise PydanticCustomError("path", "{reason}", {"reason": str(error)}) from error
    if not os.path.exists(path):
        searched = "" if str(path) == value else f" (searched {path})"
        raise fault(f'is "{value}"; file not found{searched}')
    return path


def _variable(match: "re.Match[str]") -> str:
    name = match.group(1)
    if not os.environ.get(name):
        raise fault(f"needs the environment variable {name}, which is not set; export {name}=...")
    return os.environ[name]


def repeated(names: Sequence[str]) -> List[str]:
    """Return the names that occur more than once, sorted."""
    return sorted({name for name in names if names.count(name) > 1})


def require_different(names: Sequence[str], what: str = "names", remedy: str = "") -> None:
    """Raise ``ValueError`` with ``remedy`` if names repeat. ``what`` describes the names in the
    message."""
    twice = repeated(names)
    if twice:
        raise ValueError(f"{what} must differ; these appear twice: {', '.join(twice)}{remedy}")


def fault(reason: str) -> PydanticCustomError:
    """Return an error whose message is the path of the field, followed by ``reason``."""
    return PydanticCustomError("predicate", "{reason}", {"reason": reason})


def _expression(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise fault(f'is "{text}", which is not a regular expression: {error}') from error
    return text


def as_tuple(value: Any) -> Any:
    """Return a list as a tuple, since strict validation rejects lists."""
    return tuple(value) if isinstance(value, list) else value


Expression = Annotated[str, AfterValidator(_expression)]
"""A regular expression of Python."""

SpecPath = Annotated[Path, BeforeValidator(resolve_path)]
"""The path of a file or directory: absolute, relative to the file that names it, ``package://`` or
``file://``. ``$(env NAME)`` is replaced by the environment variable. The path is absolute after
loading."""

LARGEST = 1e6
"""Largest coordinate or size (m). Above it, 32-bit numbers of simulators do not resolve
centimeters, and areas and volumes can overflow."""

Bounded = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]
"""A coordinate, a size, or another number that is random or measured in a world."""

Positive = Annotated[float, Field(gt=0, le=LARGEST)]
NotNegative = Annotated[float, Field(ge=0, le=LARGEST)]

Point = Annotated[Tuple[Bounded, Bounded], BeforeValidator(as_tuple)]
"""``[x, y]`` in meters."""

Interval = Annotated[Tuple[Bounded, Bounded], BeforeValidator(as_tuple)]
"""``[lowest, highest]``."""


class PoseSpec(Spec):
    """A planar pose in the world (map) frame: meters and radians."""

    x_m: Bounded
    """x coordinate (m) in the world frame."""
    y_m: Bounded
    """y coordinate (m) in the world frame."""
    yaw_rad: Bounded = 0.0
    """Heading (rad), counter-clockwise from +x."""

    @property
    def pose(self) -> Pose2D:
        """Return the pose."""
        return Pose2D(self.x_m, self.y_m, self.yaw_rad)


class ViaSpec(Spec):
    """A specification with a goal and optional goals before it."""

    via: List[PoseSpec] = Field(default_factory=list)
    """Goals that the robot must reach before the goal, in this order; default: none."""
