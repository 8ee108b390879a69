"""Typed access to ``~`` parameters, with errors that contain the full name of the parameter.

Values are read once, at the start of a node.
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
    """Return the private parameter ``~name`` as a ``kind``. An integer is accepted as a float.

    Raises ``SpecError`` if it is missing and has no default, or has another type.
    """
    full_name = rospy.resolve_name("~" + name)
    if not rospy.has_param(full_name):
        if default is REQUIRED:
            raise SpecError(f"parameter {full_name} is not set; set it to a {kind.__name__}")
        return default
    value = rospy.get_param(full_name)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return kind(value)  # type: ignore[call-arg]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise SpecError(f"parameter {full_name} is {value!r}; it must be a {kind.__name__}")
    return value


def read_numbers(name: str, count: int, default: Optional[Sequence[float]] = None) -> List[float]:
    """Return the private parameter ``~name`` as ``count`` numbers. Raises ``SpecError``."""
    value = read(name, list, REQUIRED if default is None else list(default))
    numbers = [number for number in value if isinstance(number, (int, float))]
    if len(numbers) != count or len(value) != count:
        raise SpecError(
            f"parameter {rospy.resolve_name('~' + name)} is {value!r}; it must be {count} numbers"
        )
    return [float(number) for number in numbers]


def read_path(name: str, default: str = REQUIRED) -> Optional[Path]:
    """Return the private parameter ``~name`` as the absolute path of an existing file, or None if
    it is empty. ``package://`` and ``model://`` are supported."""
    text = read(name, str, default)
    return existing_file(text, f"parameter {rospy.resolve_name('~' + name)}") if text else None


def user_directory() -> Path:
    """Return the user's working directory, to which relative paths refer.

    roslaunch starts nodes in ``~/.ros`` and keeps ``PWD`` of the user's shell.
    """
    shell = os.environ.get("PWD", "")
    return Path(shell) if os.path.isabs(shell) and os.path.isdir(shell) else Path.cwd()


def existing_file(text: str, what: str) -> Path:
    """Return the absolute path of the file ``text``, relative to :func:`user_directory`.

    Raises ``SpecError`` with the name ``what`` of the value if the file does not exist.
    """
    path = resources.resolve(text, user_directory())
    if not os.path.exists(path):
        raise SpecError(f"{what} is {text!r}, but the file {path} does not exist")
    return path
