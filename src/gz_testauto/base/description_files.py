"""Find the files that a robot description (URDF, xacro or SDF) includes or names.

No program runs: only ``$(find)``, ``$(arg)``, ``$(env)``, ``$(optenv)``, ``$(dirname)`` and
constant properties of xacro are replaced.
"""

import functools
import os
import re
from pathlib import Path
from typing import Dict, FrozenSet, Iterator, List, Mapping, NamedTuple, Optional, Set, Tuple

from lxml import etree

from gz_testauto.base import resources
from gz_testauto.base.errors import ResourceError
from gz_testauto.base.xml_file import read_xml

XACRO = ".xacro"
SUFFIXES = {XACRO, ".urdf", ".sdf", ".xml", ".world"}  # of files searched for further files
_NOT_ALWAYS = {"if", "unless", "macro"}  # elements of xacro that are evaluated only in some cases
_PATH_ATTRIBUTES = ("filename", "file", "uri", "url", "textfile")
_LARGEST_READ_B = 2_000_000
_DEPTH = 20
_REFERENCE = re.compile(r"\$\((find|arg|env|optenv|dirname)\s*([^()\s]*)\s*([^()]*)\)")
_PROPERTY = re.compile(r"\$\{\s*([A-Za-z_]\w*)\s*\}")
_UNSOLVED = re.compile(r"\$\(|\$\{")
_QUOTED = re.compile(r"'([^']+)'")
_SCHEMES = ("file://", "package://", "model://")


class DescriptionFiles(NamedTuple):
    """The files of a description, without the description itself.

    ``not_followed`` are the texts of unknown paths, by the file that contains them.
    ``missing_packages`` are the packages of ``$(find)`` that do not exist. xacro fails without
    those in ``needed_packages``.
    """

    files: Tuple[Path, ...]
    not_followed: Mapping[Path, Tuple[str, ...]]
    missing_packages: FrozenSet[str] = frozenset()
    needed_packages: FrozenSet[str] = frozenset()


def description_files(
    path: Path, arguments: Mapping[str, str], environment: Optional[Mapping[str, str]] = None
) -> DescriptionFiles:
    """Return the files that a robot description in ``path`` includes or names.

    ``arguments`` are those of xacro. ``environment`` is added to the variables of this process.
    Missing files, and files that are not valid XML, are omitted.
    """
    search = _NamedFileSearch({**os.environ, **(environment or {})})
    search.follow(path, dict(arguments), _DEPTH, path.suffix == XACRO)
    unknown_texts = {file: tuple(dict.fromkeys(texts)) for file, texts in search.unknown.items()}
    missing_packages, needed_packages = (
        frozenset(search.missing_packages),
        frozenset(search.needed_packages),
    )
    return DescriptionFiles(tuple(search.files), unknown_texts, missing_packages, needed_packages)


def find_file(word: str) -> Optional[Path]:
    """Return the path that ``word`` denotes, an absolute path or a URI. The path need not exist.
    Return None for any other word, and for a URI of an unknown package or model."""
    if word.startswith(_SCHEMES):
        path = _resolve_resource(word, os.environ.get("ROS_PACKAGE_PATH", ""))
        return Path(path) if path else None
    return Path(word) if word.startswith("/") and "\0" not in word and len(word) < 4096 else None


class _NamedFileSearch:
    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self.files: List[Path] = []
        self.unknown: Dict[Path, List[str]] = {}
        self.missing_packages: Set[str] = set()
        self.needed_packages: Set[str] = set()
        self._properties: Dict[str, str] = {}
        self._is_evaluated = False

    def follow(self, file: Path, scope: Dict[str, str], depth: int, is_evaluated: bool) -> None:
        """Collect the files that ``file`` names, up to ``depth`` levels of inclusion. ``scope``
        contains the known xacro arguments and properties. ``is_evaluated`` is true if xacro always
        evaluates ``file``."""
        if depth == 0 or not os.path.isfile(file) or file.stat().st_size > _LARGEST_READ_B:
            return
        try:
            root = read_xml(file)
        except (OSError, etree.XMLSyntaxError):
            return
        for element in root.iter(etree.Element):
            kind = etree.QName(element).localname
            name, value = element.get("name"), element.get("value", element.get("default"))
            is_always_evaluated = is_evaluated and _NOT_ALWAYS.isdisjoint(
                etree.QName(ancestor).localname for ancestor in (element, *element.iterancestors())
            )
            self._is_evaluated = is_always_evaluated
            if kind == "arg" and name and value is not None:
                scope.setdefault(name, self._substitute(value, scope, file))
            elif kind == "property" and name and value is not None:
                self._properties[name] = self._substitute(value, scope, file)
            for word in self._possible_paths(element, scope, file):
                path = find_file(word)
                if path is None and kind == "include" and word in element.attrib.values():
                    path = file.parent / word
                if path is None or not os.path.isfile(path) or path.resolve() in self.files:
                    continue
                self.files.append(path.resolve())
                if path.suffix in SUFFIXES or kind == "include":
                    self.follow(
                        path.resolve(), scope, depth - 1, is_always_evaluated and kind == "include"
                    )
                    self._is_evaluated = is_always_evaluated

    def _possible_paths(
        self, element: "etree._Element", scope: Mapping[str, str], file: Path
    ) -> Iterator[str]:
        """Yield the words of attributes and text, with substituted references. Store texts whose
        paths cannot be substituted in ``unknown``."""
        texts = [(name, str(text)) for name, text in element.attrib.items()]
        if element.text and element.text.strip():
            texts.append((etree.QName(element).localname, element.text.strip()))
        for name, text in texts:
            value = self._substitute(text, scope, file)
            if _UNSOLVED.search(value):
                quoted = [word for word in _QUOTED.findall(value) if find_file(word) is not None]
                yield from quoted
                is_path = name in _PATH_ATTRIBUTES or value.startswith(_SCHEMES)
                if (is_path or "load_yaml(" in value) and not quoted:
                    self.unknown.setdefault(file, []).append(text)
                continue
            yield value
            yield from value.split()

    def _substitute(self, text: str, scope: Mapping[str, str], file: Path) -> str:
        def value_of(match: "re.Match[str]") -> str:
            kind, name, default = match.groups()
            if kind == "find":
                directory = find_file(f"package://{name}")
                if directory is None:
                    self.missing_packages.add(name)
                    if self._is_evaluated:
                        self.needed_packages.add(name)
                return match.group() if directory is None else str(directory)
            if kind == "arg":
                return scope.get(name, match.group())
            if kind == "dirname":
                return str(file.parent)
            return self._environment.get(name, default if kind == "optenv" else match.group())

        text = _PROPERTY.sub(lambda match: self._properties.get(match[1], match[0]), text)
        return _REFERENCE.sub(value_of, text)


@functools.lru_cache(maxsize=None)
def _resolve_resource(uri: str, package_path: str) -> str:
    # ``package_path``, the value of ROS_PACKAGE_PATH, is only a key of the cache.
    try:
        return str(resources.resolve(uri, Path("/")))
    except ResourceError:
        return ""
