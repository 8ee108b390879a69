"""Find ROS packages by name, in the directories and the order of rospkg.

rospkg itself raises an error for each package if one ``package.xml`` is not valid XML.
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
_SYSTEM_SHARE = "/usr/share/"  # only direct subdirectories can be packages, as in Debian's rospkg


def ros_packages() -> Mapping[str, Path]:
    """Return the packages in the sourced workspaces (``ROS_PACKAGE_PATH``). A package whose
    ``package.xml`` cannot be read is skipped with a warning."""
    try:
        import rospkg
    except ImportError:
        entries = os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep)
        return _find_packages(tuple(entry for entry in entries if entry))
    return _find_packages(tuple(rospkg.get_ros_paths()))


def read_manifest(package: Path) -> "etree._Element":
    """Parse ``package.xml``. Raises ``OSError`` or ``etree.XMLSyntaxError``."""
    return parse_xml(read_file(package / _MANIFEST, MOST_MANIFEST_BYTES))


@lru_cache(maxsize=1)
def _find_packages(folders: Tuple[str, ...]) -> Mapping[str, Path]:
    packages: Dict[str, Path] = {}
    for parent in folders:
        in_parent: Dict[str, Path] = {}
        for folder, is_package in _package_folders(os.path.abspath(parent)):
            name = _package_name(folder) if is_package else folder.name
            if name:
                in_parent[name] = folder
        for name, folder in in_parent.items():
            packages.setdefault(name, folder)
    return packages


def _package_folders(parent: str) -> Iterator[Tuple[Path, bool]]:
    for folder, subfolders, files in os.walk(parent, followlinks=True):
        if "CATKIN_IGNORE" not in files and (_MANIFEST in files or "manifest.xml" in files):
            yield Path(folder), _MANIFEST in files
        if any(leaf in files for leaf in _LEAVES) or folder.startswith(_SYSTEM_SHARE):
            subfolders.clear()
        subfolders[:] = [name for name in subfolders if not name.startswith(".")]


def _package_name(package: Path) -> str:
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
