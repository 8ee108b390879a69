"""The base class of specifications, and common types of fields."""

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
"""Key in the validation context, for a dict of the ``id`` of each mapping to its class."""

_ENVIRONMENT = re.compile(r"\$\(env\s+([A-Za-z_]\w*)\s*\)")


class Spec(BaseModel):
    """An immutable record that is read from YAML. Unknown keys are errors. Types are strict:
    ``"8"`` is not accepted as a number, and ``yes`` is not accepted as a name."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, protected_namespaces=()
    )

    @classmethod
    def kind_of(cls, data: Mapping[str, Any]) -> Type[Self]:
        """Return the class that validates ``data``: this class, or a subclass that ``data``
        selects. Only errors of the returned class are reported."""
        return cls

    @model_validator(mode="wrap")
    @classmethod
    def _store_class(cls, data: Any, handler: Any, info: ValidationInfo) -> Any:
        if info.context and CLASSES in info.context:
            info.context[CLASSES][id(data)] = cls
        return handler(data)


@dataclass(frozen=True, eq=False)
class YamlLocation:
    """The location of a specification in a YAML file, with the lines of its fields. All instances
    compare equal, so that equal specifications can have different locations."""

    file: str = ""
    path: str = ""
    line: int = 0
    lines: Mapping[str, int] = dataclass_field(default_factory=dict)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, YamlLocation)

    def __hash__(self) -> int:
        return 0

    def of(self, field: str) -> str:
        """Return ``file:line: path.of.field`` for a field, or for the key of a mapping in a field,
        such as ``parameters.rays``. Returns "" for a specification that is not from a file."""
        if not self.file:
            return ""
        line = self.lines.get(field, self.lines.get(field.partition(".")[0], self.line))
        return f"{self.file}:{line}: {'.'.join(filter(None, (self.path, field)))}"


class LocatedSpec(Spec):
    """A specification of a plug-in, with its location in the YAML file for errors of the plug-in's
    constructor."""

    _location: YamlLocation = PrivateAttr(default_factory=YamlLocation)

    @contextlib.contextmanager
    def locating(self, name: str, parameters: str) -> Iterator[None]:
        """Return a context that adds file, line and field to errors of a plug-in's constructor.
        The field ``name`` has the plug-in's name, and the field ``parameters`` its parameters."""
        try:
            yield
        except (SpecError, PluginError, MissingDependencyError) as error:
            field = f"{parameters}.{error.parameter}" if isinstance(error, ParameterError) else name
            location = self._location.of(field)
            error.args = (f"{location}: {error.full}" if location else error.full,)
            raise


STORED = {"is_stored": True}
"""The validation context of a stored campaign. Its paths are absolute and are not opened."""


def is_stored(info: ValidationInfo) -> bool:
    """Return whether the validated data are a campaign in a results directory, whose files are not
    read."""
    return bool((info.context or {}).get("is_stored"))


def resolve_path(value: Any, info: ValidationInfo) -> Any:
    """Return the absolute path of an existing path or URI. Raises an error of pydantic for a
    missing file or environment variable.

    A relative path is relative to the directory of the file ``source`` in the validation context.
    Without ``source``, it remains relative. ``$(env NAME)`` is replaced as in roslaunch.
    """
    if not isinstance(value, str):
        return value
    if is_stored(info):
        if not os.path.isabs(value):
            raise fault(f"is {value!r}; stored paths are absolute")
        return Path(value)
    value = _ENVIRONMENT.sub(_environment_variable, value)
    source = (info.context or {}).get("source")
    if source is None:  # created in code, not read from a file
        return Path(value)
    try:
        path = resources.resolve(value, Path(source))
    except GzTestautoError as error:
        raise PydanticCustomError("path", "{reason}", {"reason": str(error)}) from error
    if not os.path.exists(path):
        search_notice = "" if str(path) == value else f" (searched {path})"
        raise fault(f'is "{value}"; file not found{search_notice}')
    return path


def _environment_variable(match: "re.Match[str]") -> str:
    name = match.group(1)
    if not os.environ.get(name):
        raise fault(f"needs the environment variable {name}, which is not set; export {name}=...")
    return os.environ[name]


def repeated(names: Sequence[str]) -> List[str]:
    """Return the names that occur more than once, sorted."""
    return sorted({name for name in names if names.count(name) > 1})


def require_different(names: Sequence[str], noun: str = "names", remedy: str = "") -> None:
    """Raise ``ValueError`` if a name occurs more than once. ``noun`` describes the names in the
    message, which ends with ``remedy``."""
    repeated_names = repeated(names)
    if repeated_names:
        raise ValueError(
            f"{noun} must differ; these appear twice: {', '.join(repeated_names)}{remedy}"
        )


def fault(reason: str) -> PydanticCustomError:
    """Return a pydantic error with the path of the field and ``reason`` as its message."""
    return PydanticCustomError("predicate", "{reason}", {"reason": reason})


def _require_regular_expression(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise fault(f'is "{text}", which is not a regular expression: {error}') from error
    return text


def as_tuple(value: Any) -> Any:
    """Return a list as a tuple, and any other value unchanged."""
    # In strict mode, pydantic does not accept a list for a tuple.
    return tuple(value) if isinstance(value, list) else value


Expression = Annotated[str, AfterValidator(_require_regular_expression)]
"""A regular expression of Python."""

SpecPath = Annotated[Path, BeforeValidator(resolve_path)]
"""A path: absolute, relative to the file that names it, ``package://`` or ``file://``, also with
``$(env NAME)``. It is absolute after loading."""

# The 32-bit numbers of simulators cannot resolve centimeters of larger coordinates, and areas and
# volumes can overflow.
LARGEST = 1e6
"""Largest coordinate or size (m)."""

Bounded = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]
"""A bounded number, such as a coordinate or a size."""

Positive = Annotated[float, Field(gt=0, le=LARGEST)]
NotNegative = Annotated[float, Field(ge=0, le=LARGEST)]

Point = Annotated[Tuple[Bounded, Bounded], BeforeValidator(as_tuple)]
"""A point in the plane as ``[x, y]`` (m)."""

Interval = Annotated[Tuple[Bounded, Bounded], BeforeValidator(as_tuple)]
"""An interval as ``[lowest, highest]``."""


class PoseSpec(Spec):
    """A planar pose in the world (map) frame."""

    x_m: Bounded
    """x coordinate (m) in the world frame."""
    y_m: Bounded
    """y coordinate (m) in the world frame."""
    yaw_rad: Bounded = 0.0
    """Heading (rad), counter-clockwise from +x."""

    @property
    def pose(self) -> Pose2D:
        """Return the pose as a :class:`Pose2D`."""
        return Pose2D(self.x_m, self.y_m, self.yaw_rad)


class ViaSpec(Spec):
    """A goal with optional intermediate goals."""

    via: List[PoseSpec] = Field(default_factory=list)
    """Intermediate goals that the robot must reach before the goal, in this order."""
