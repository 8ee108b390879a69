"""Reading of private parameters at the start of a node, and of files named in requests.

Errors contain the full name of the parameter. :mod:`~gz_testauto.ros.interface` has the base class
of the declarations.
"""

import os
from pathlib import Path
from typing import Any, Mapping, Type, TypeVar

import rospy
from pydantic import ValidationError

from gz_testauto.base import resources
from gz_testauto.base.errors import SpecError
from gz_testauto.ros.interface import NodeParameters, user_directory
from gz_testauto.spec.loader import fault_text

Parameters = TypeVar("Parameters", bound=NodeParameters)


def read(kind: Type[Parameters]) -> Parameters:
    """Return this node's private parameters. Raises ``SpecError`` with all faults."""
    node = rospy.get_name()
    given = rospy.get_param(node, {})
    try:
        return kind.model_validate(given, context={"source": user_directory()})
    except ValidationError as invalid:
        faults = [_fault(node, error) for error in invalid.errors()]
        raise SpecError("\n".join(faults)) from None


def _fault(node: str, error: Mapping[str, Any]) -> str:
    name = f"parameter {node}/" + ".".join(map(str, error["loc"]))
    return f"{name} is not set" if error["type"] == "missing" else fault_text(name, error)


def existing_file(text: str, what: str) -> Path:
    """Return the absolute path of the file ``text``, relative to the user's working directory.

    Raises ``SpecError`` with the name ``what`` of the value if the file does not exist.
    """
    path = resources.resolve(text, user_directory())
    if not os.path.exists(path):
        raise SpecError(f"{what} is {text!r}, but the file {path} does not exist")
    return path
