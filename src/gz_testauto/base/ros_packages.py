"""Find ROS packages by name, also if the ``package.xml`` of another package is damaged.

The directories and their order are those of rospkg. rospkg itself raises an error for each package
if one ``package.xml`` in these directories is not valid XML.
"""

import logging
import os
from functools import lru_cache
from pathlib import Path
from typing import Dict, Iterator, Mapping, Tuple

from lxml import etree

from gz_testauto.base.disk import read_file
from gz_testauto.base.xml_file import parse_xml

LOGGER = logging.getLogger(__name__)

MOST_MANIFEST_BYTES = 1_000_000
_MANIFEST = "package.xml"
_LEAVES = ("CATKIN_IGNORE", "rospack_nosubdirs", "manifest.xml", _MANIFEST)
_SYSTEM_SHARE = "/usr/share/"
"""Only the directories directly below this directory can be packages, as in Debian's rospkg."""


def ros_packages() -> Mapping[str, Path]:
    """Return the directories of all ROS packages by name.

    These are the packages in the sourced workspaces (``ROS_PACKAGE_PATH``), also on a machine
    without ROS. A package whose ``package.xml`` cannot be read is skipped with a warning.
    """
    try:
        import rospkg
    except ImportError:
        entries = os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep)
        return _search(tuple(entry for entry in entries if entry))
    return _search(tuple(rospkg.get_ros_paths()))


def read_manifest(package: Path) -> "etree._Element":
    """Return the root element of a package's ``package.xml``.

    Raises ``OSError`` or ``etree.XMLSyntaxError``.
    """
    return parse_xml(read_file(package / _MANIFEST, MOST_MANIFEST_BYTES))


@lru_cache(maxsize=1)
def _search(places: Tuple[str, ...]) -> Mapping[str, Path]:
    found: Dict[str, Path] = {}
    for place in places:
        in_place: Dict[str, Path] = {}
        for folder, is_package in _folders(os.path.abspath(place)):
            name = _name(folder) if is_package else folder.name
            if name:
                in_place[name] = folder
        for name, folder in in_place.items():
            found.setdefault(name, folder)
    return found


def _folders(place: str) -> Iterator[Tuple[Path, bool]]:
    """Yield the directories of packages below a directory, each with whether it has a
    ``package.xml``.
    """
    for folder, below, files in os.walk(place, followlinks=True):
        if "CATKIN_IGNORE" not in files and (_MANIFEST in files or "manifest.xml" in files):
            yield Path(folder), _MANIFEST in files
        if any(leaf in files for leaf in _LEAVES) or folder.startswith(_SYSTEM_SHARE):
            below.clear()
        below[:] = [name for name in below if not name.startswith(".")]


def _name(package: Path) -> str:
    """Return the name in the package's ``package.xml``, or "" for a metapackage, or after a
    warning.
    """
    try:
        root = read_manifest(package)
        if root.find("export/metapackage") is not None:
            return ""
        name = (root.findtext("name") or "").strip()
    except (OSError, etree.XMLSyntaxError) as error:
        name, reason = "", str(getattr(error, "strerror", None) or error)
    else:
        reason = "the element <name> is missing"
    if not name:
        LOGGER.warning(
            "%s: cannot be read (%s); this package is skipped. Correct or remove the file",
            package / _MANIFEST,
            reason,
        )
    return name
