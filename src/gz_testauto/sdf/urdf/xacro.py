"""Run xacro, which generates URDF or SDF from macros, in a child process.

xacro is the module of ROS or the Python package of the same name. ``$(find PACKAGE)`` is resolved
as ``package://PACKAGE``.
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Mapping, Optional

from lxml import etree

from gz_testauto.base import resources
from gz_testauto.base.disk import read_input
from gz_testauto.base.errors import MissingDependencyError, ResourceError, SdfError
from gz_testauto.spec.robot import XacroSpec

TIMEOUT_S = 120.0
EXPAND = "expand the file: xacro FILE -o NEW_FILE"
_NAMESPACES = ("http://www.ros.org/wiki/xacro", "http://ros.org/wiki/xacro")

_PROGRAM = """
import sys
sys.path.append(sys.argv.pop(1))
from gz_testauto.sdf.urdf.xacro import run_in_child
run_in_child()
"""


@dataclass(frozen=True)
class XacroInput:
    arguments: Mapping[str, str] = field(default_factory=dict)
    """Values of ``<xacro:arg>`` elements."""
    environment: Mapping[str, str] = field(default_factory=dict)
    key: str = ""
    """The key of the campaign that sets this input; "" if there is none."""

    @classmethod
    def of(cls, spec: Optional[XacroSpec], key: str) -> "Optional[XacroInput]":
        return None if spec is None else cls(spec.arguments, spec.environment, key)


def expand_xacro(path: Path, xacro: XacroInput) -> bytes:
    """Return the URDF or SDF that xacro generates. Raises ``SdfError`` if xacro fails, and
    ``MissingDependencyError`` if it is not installed."""
    read_input(path, SdfError)  # raises the error of a file that cannot be read
    source = str(Path(resources.__file__).parents[2])
    command = [sys.executable, "-c", _PROGRAM, source, str(path)]
    command += [f"{name}:={value}" for name, value in xacro.arguments.items()]
    try:
        completed = subprocess.run(
            command,
            env={**os.environ, **xacro.environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise SdfError(
            f"{path}: xacro did not finish in {TIMEOUT_S:.0f} s; check its macros for recursion"
        ) from error
    messages = completed.stderr.decode(errors="replace").strip().splitlines()
    if "No module named 'xacro'" in "\n".join(messages[-1:]):
        raise MissingDependencyError(
            f"{path}: xacro is not installed; run 'python3 -m pip install xacro', or install "
            "ros-noetic-xacro"
        )
    if completed.returncode != 0:
        cause = _error_excerpt(messages)
        raise SdfError(f"{path}: xacro reports an error: {cause}{_remedy(cause, xacro.key)}")
    return completed.stdout


def require_no_macros(root: Any, source: str, remedy: str = EXPAND) -> None:
    for element in root.iter(etree.Element):
        name, where = etree.QName(element), f"{source}:{element.sourceline}"
        if element.prefix == "xacro":  # xacro ignores the namespace, and Gazebo the element
            raise SdfError(f"{where}: <xacro:{name.localname}> is a macro; {remedy}")
        if name.namespace in _NAMESPACES:
            raise SdfError(
                f"{where}: <{name.localname}> has the namespace of xacro, which expands only "
                f"elements with the prefix xacro; write <xacro:{name.localname}>"
            )


def _error_excerpt(messages: "list[str]") -> str:
    lines = [line.strip() for line in messages if line.strip()]
    errors = [i for i, line in enumerate(lines) if line.startswith("error:")]
    first = errors[0] if errors else max(0, len(lines) - 1)
    return "; ".join(lines[first : first + 3]) or "no message"


def _remedy(cause: str, key: str) -> str:
    """Return an instruction to specify the argument or environment variable that xacro lacks, or an
    empty string if ``cause`` is another error."""
    match = re.search(
        r"Undefined substitution argument (\w+)|environment variable '?(\w+)'? is not set", cause
    )
    if not match:
        return ""
    argument, variable = match.groups()
    if not key:
        return ". Add a default to its <xacro:arg>" if argument else f". Set {variable}"
    keys = (
        f"arguments: {{{argument}: VALUE}}" if argument else f"environment: {{{variable}: VALUE}}"
    )
    return f". Add {key}: {{{keys}}} to the campaign file"


def run_in_child() -> None:
    # The Python package locates ROS packages with ament_index_python of ROS 2, which is replaced.
    import types

    file = Path(sys.argv[1])

    def share_directory(name: str) -> str:
        try:
            return str(resources.resolve(f"package://{name}", file))
        except ResourceError as error:
            sys.exit(f"error: {error}")

    packages = types.ModuleType("ament_index_python.packages")
    packages.get_package_share_directory = share_directory  # type: ignore[attr-defined]
    sys.modules["ament_index_python"] = types.ModuleType("ament_index_python")
    sys.modules["ament_index_python.packages"] = packages
    import xacro

    xacro.main()
