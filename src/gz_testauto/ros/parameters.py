"""Reading ``~`` parameters: typed, with errors that name the parameter in full.

Owns what a missing or ill-typed parameter says. Values are read once, at the start of a node.
"""

import os
from pathlib import Path
from typing import Any, List, Optional, Sequence, Type, TypeVar

import rospy

from gz_testauto.base import resources
from gz_testauto.base.errors import SpecError

Value = TypeVar("Value")
REQUIRED: Any = object()


def read(name: str, kind: Type[Value], default: Value = REQUIRED) -> Value:
    """The private parameter ``~name`` as a ``kind``. Whole numbers pass as floats. Raises
    ``SpecError`` when it is missing without a default, or of another kind."""
    full_name = rospy.resolve_name("~" + name)
    if not rospy.has_param(full_name):
        if default is REQUIRED:
            raise SpecError(f"parameter {full_name} is not set; give it a {kind.__name__}")
        return default
    value = rospy.get_param(full_name)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return kind(value)  # type: ignore[call-arg]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise SpecError(f"parameter {full_name} is {value!r}; it must be a {kind.__name__}")
    return value


def read_numbers(name: str, count: int, default: Optional[Sequence[float]] = None) -> List[float]:
    """The private parameter ``~name`` as that many numbers."""
    value = read(name, list, REQUIRED if default is None else list(default))
    numbers = [number for number in value if isinstance(number, (int, float))]
    if len(numbers) != count or len(value) != count:
        raise SpecError(
            f"parameter {rospy.resolve_name('~' + name)} is {value!r}; it must be {count} numbers"
        )
    return [float(number) for number in numbers]


def read_path(name: str, default: str = REQUIRED) -> Optional[Path]:
    """The private parameter ``~name`` as the absolute path of an existing file; ``package://``
    and ``model://`` are understood. None where it is empty."""
    text = read(name, str, default)
    return existing_file(text, f"parameter {rospy.resolve_name('~' + name)}") if text else None


def user_directory() -> Path:
    """Where the user stood when starting the node: what relative paths are relative to.

    roslaunch starts nodes in ``~/.ros`` and leaves ``PWD`` as the user's shell had it.
    """
    shell = os.environ.get("PWD", "")
    return Path(shell) if os.path.isabs(shell) and os.path.isdir(shell) else Path.cwd()


def existing_file(text: str, what: str) -> Path:
    """The absolute path that ``text`` names, relative to :func:`user_directory`. Raises
    ``SpecError``, naming ``what``, where there is no such file."""
    path = resources.resolve(text, user_directory())
    if not os.path.exists(path):
        raise SpecError(f"{what} is {text!r}, and there is no file {path}")
    return path
