#!/usr/bin/env python3
"""Compare the conversion of URDF to SDF with that of Gazebo 11 (``gz sdf --print``).

    ./bootstrap exec python3 benchmarks/urdf_conversion.py DIRECTORY [--xacro]

Each ``.urdf`` file below DIRECTORY, and with ``--xacro`` each ``.xacro`` file with a named robot,
is converted by Gazebo and by this package. Both results are printed by Gazebo and compared:
elements, names, texts, poses and numbers (relative difference at most 2e-5, since Gazebo writes 6
digits).
Known differences are listed with their cause in docs/robots.md. The exit status is the number of
files that differ, at most 99.
"""

import argparse
import math
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Iterator, List, Optional

from lxml import etree

from gz_testauto.base.errors import GzTestautoError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.urdf.converter import convert_urdf
from gz_testauto.sdf.urdf.xacro import expand_xacro
from gz_testauto.simulators.gazebo.installation import find_gazebo

TOLERANCE = 2e-5
TIMEOUT_S = 60.0


def gazebo_sdf(text: bytes, suffix: str = ".urdf") -> bytes:
    """Return the SDF that Gazebo prints for a URDF or SDF text. Raises ``ValueError`` with its
    message if it rejects the text."""
    installation = find_gazebo()
    server = Path(installation.server[-1])
    program = server.with_name(server.name.replace("gzserver", "gz", 1))
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / f"model{suffix}"
        path.write_bytes(text)
        done = subprocess.run(
            [*installation.server[:-1], str(program), "sdf", "--print", str(path)],
            env=installation.process_environment(master_port=0),
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    start = done.stdout.find(b"<sdf")
    if done.returncode != 0 or start < 0:
        raise ValueError((done.stderr or done.stdout).decode(errors="replace").strip())
    return done.stdout[start:]


def differences(urdf: bytes, source: str = "urdf") -> List[str]:
    """Return the differences between Gazebo's conversion of a URDF and that of this package."""
    own = gazebo_sdf(etree.tostring(convert_urdf(urdf, source)), ".sdf")
    return list(_compare(_normalized(gazebo_sdf(urdf)), _normalized(own), ""))


def _normalized(sdf: bytes) -> "etree._Element":
    root = etree.fromstring(sdf)
    for uri in root.iter("uri"):  # Gazebo replaces the scheme
        uri.text = (uri.text or "").replace("package://", "model://")
    for link in root.iter("link"):  # Gazebo adds one per <gazebo> element, and reads the first
        for repeated in link.findall("velocity_decay")[1:]:
            link.remove(repeated)
    for joint in root.iter("joint"):  # Gazebo adds an axis to a fixed joint that is kept
        for axis in joint.findall("axis") if joint.get("type") == "fixed" else ():
            joint.remove(axis)
    return root


def _compare(first: "etree._Element", second: "etree._Element", place: str) -> Iterator[str]:
    place = f"{place}/{first.get('name') or first.tag}"
    if dict(first.attrib) != dict(second.attrib):
        yield f"{place}: {dict(first.attrib)} and {dict(second.attrib)}"
    if not _same_text(first, second):
        yield f"{place}: {first.text!r} and {second.text!r}"
    ours, theirs = (sorted(element, key=_key) for element in (first, second))
    if [_key(one) for one in ours] != [_key(one) for one in theirs]:
        alone = {_key(one) for one in ours} ^ {_key(one) for one in theirs}
        yield f"{place}: {len(ours)} and {len(theirs)} children, different: {sorted(alone)}"
        return
    for one, other in zip(ours, theirs):
        yield from _compare(one, other, place)


def _key(element: "etree._Element") -> "tuple[str, str]":
    return element.tag, element.get("name") or ""


def _same_text(first: "etree._Element", second: "etree._Element") -> bool:
    one, other = ((element.text or "").split() for element in (first, second))
    if one == other:
        return True
    try:
        numbers, others = [float(text) for text in one], [float(text) for text in other]
    except ValueError:
        return False
    if first.tag == "pose" and len(numbers) == len(others) == 6:
        a, b = Pose.from_values(numbers), Pose.from_values(others)
        turned = abs(sum(p * q for p, q in zip(a.quaternion, b.quaternion)))
        return math.dist(a.position, b.position) < TOLERANCE and turned > 1 - 1e-8
    return len(numbers) == len(others) and all(
        math.isclose(p, q, rel_tol=TOLERANCE, abs_tol=1e-12) for p, q in zip(numbers, others)
    )


def _urdf(path: Path) -> Optional[bytes]:
    """Return the URDF of a file, or None if the file contains no complete robot."""
    content = path.read_bytes()
    if path.suffix == ".xacro":
        if not re.search(rb"<robot[^>]*\sname=", content):
            return None
        content = expand_xacro(path)
    return content if b"<link" in content else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--xacro", action="store_true", help="expand .xacro files, too")
    arguments = parser.parse_args()
    paths = sorted(arguments.directory.rglob("*.urdf"))
    paths += sorted(arguments.directory.rglob("*.xacro")) if arguments.xacro else []
    same, different = 0, 0
    for path in paths:
        try:
            urdf = _urdf(path)
            found = [] if urdf is None else differences(urdf, str(path))
        except (GzTestautoError, ValueError, subprocess.TimeoutExpired) as error:
            urdf, found = b"", [str(error)]
        same += urdf is not None and not found
        different += bool(found)
        for line in found[:5]:
            print(f"{path}: {line}")
    print(f"{same} of {same + different} URDF files are converted as by Gazebo")
    return min(different, 99)


if __name__ == "__main__":
    sys.exit(main())
