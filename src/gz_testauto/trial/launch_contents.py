"""The files that a launch file needs: includes, loaded files and files in node arguments.

Owns the search through ``<include>``, the files in ``<rosparam>``, ``<param>`` and node arguments,
and the includes of xacro and URDF files, with ``$(find)``, ``$(arg)``, ``$(env)``, ``$(optenv)``
and ``$(dirname)`` replaced as roslaunch does. It starts nothing. ``$(eval)`` and ``$(anon)``, files
that programs open, and files for visualization are not followed. Elements under ``if`` and
``unless`` are always followed.
"""

import contextlib
import functools
import os
import re
import shlex
from pathlib import Path
from typing import Dict, Iterator, List, Mapping, Optional

from lxml import etree

from gz_testauto.base import resources
from gz_testauto.base.errors import ResourceError
from gz_testauto.base.xml_file import read_xml

Arguments = Mapping[str, str]

_READ_ON = {".launch", ".xml", ".xacro", ".urdf"}
_TO_LOOK_AT = {".rviz"}
_LARGEST_READ_B = 2_000_000
"""Larger files are data without includes."""
_REFERENCE = re.compile(r"\$\((find|arg|env|optenv|dirname)\s*([^()\s]*)\s*([^()]*)\)")
_UNSOLVED = re.compile(r"\$\(|\$\{")
_DEPTH = 20


def files_of(launch: Path, arguments: Arguments) -> Dict[str, Path]:
    """Return all files that a launch file needs with ``arguments``.

    Their names do not depend on the location: the package and the path within, or the file's name.
    Missing files, and files that are not valid XML, are omitted; roslaunch reports them.
    """
    found: List[Path] = []
    _follow(launch, arguments, found, _DEPTH)
    named: Dict[str, Path] = {}
    for path in found:
        name, number = _name(path), 1
        while named.get(name, path) != path:
            number += 1
            name = f"{_name(path)} ({number})"
        named[name] = path
    return named


def _follow(file: Path, given: Arguments, found: List[Path], depth: int) -> None:
    """Add the files that ``file`` names to ``found``, recursively."""
    if file.stat().st_size > _LARGEST_READ_B or depth == 0:
        return
    try:
        root = read_xml(file)
    except (OSError, etree.XMLSyntaxError):
        return
    scope = dict(given)
    for element in root.iter(etree.Element):
        if element.tag == "arg" and element.getparent().tag != "include":
            text = element.get("value") or element.get("default")
            value = None if text is None else _replaced(text, scope, file)
            if value is not None and (element.get("value") or element.get("name") not in scope):
                scope[str(element.get("name"))] = value
            continue
        passed = _passed(element, scope, file) if element.tag == "include" else {}
        for path in _named_by(element, scope, file):
            if path not in found and path.suffix not in _TO_LOOK_AT:
                found.append(path)
                if path.suffix in _READ_ON:
                    _follow(path, passed, found, depth - 1)


def _passed(include: "etree._Element", scope: Arguments, file: Path) -> Arguments:
    """Return the arguments of an ``<include>``."""
    passed = dict(scope) if include.get("pass_all_args") == "true" else {}
    for argument in include.iterchildren("arg"):
        value = _replaced(argument.get("value") or argument.get("default") or "", scope, file)
        if value is not None:
            passed[str(argument.get("name"))] = value
    return passed


def _named_by(element: "etree._Element", scope: Arguments, file: Path) -> Iterator[Path]:
    """Yield the files in the attributes of an element, alone or as words of a command."""
    for text in element.attrib.values():
        value = _replaced(str(text), scope, file)
        for word in _words(value or ""):
            path = _path(word)
            if path is not None and os.path.isfile(path):
                yield path.resolve()


def _words(text: str) -> Iterator[str]:
    """Yield the text and its words: ``-d /a/b.rviz``, ``name:=/a/b``."""
    yield text
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    for word in words:
        yield word
        yield word.rpartition(":=")[2]


def _path(word: str) -> Optional[Path]:
    if word.startswith("package://"):
        name, _, inside = word[len("package://") :].partition("/")
        directory = _package(name, os.environ.get("ROS_PACKAGE_PATH", ""))
        return Path(directory) / inside if directory else None
    word = word[len("file://") :] if word.startswith("file://") else word
    return Path(word) if word.startswith("/") and "\0" not in word and len(word) < 4096 else None


@functools.lru_cache(maxsize=None)
def _package(name: str, package_path: str) -> str:
    """Return the directory of a package, empty if it does not exist. It is cached, since a search
    of ``package_path`` is slow."""
    try:
        return str(resources.resolve(f"package://{name}", Path()))
    except ResourceError:
        return ""


def _replaced(text: str, scope: Arguments, file: Path) -> Optional[str]:
    """Return the text with all substitutions replaced, None if one cannot be."""

    def put(match: "re.Match[str]") -> str:
        kind, name, rest = match.groups()
        if kind == "find":
            return _package(name, os.environ.get("ROS_PACKAGE_PATH", "")) or match.group()
        if kind == "arg":
            return scope.get(name, match.group())
        if kind == "dirname":
            return str(file.parent)
        return os.environ.get(name, rest if kind == "optenv" else match.group())

    replaced = _REFERENCE.sub(put, text)
    return None if _UNSOLVED.search(replaced) else replaced


def _name(path: Path) -> str:
    for directory in path.parents:
        manifest = directory / "package.xml"
        if os.path.isfile(manifest):
            with contextlib.suppress(OSError, etree.XMLSyntaxError):
                package = (read_xml(manifest).findtext("name") or directory.name).strip()
                return str(Path(package) / path.relative_to(directory))
    return path.name
