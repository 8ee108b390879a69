"""The worlds of a directory, with or without their data in the manifest ``worlds.json``."""

import hashlib
import json
import os
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Collection, Dict, List, Mapping, Optional, Sequence, Tuple

from lxml import etree

from gz_testauto.base.disk import MOST_BYTES, read_input
from gz_testauto.base.errors import SpecError
from gz_testauto.base.json_file import read_json_object, validate_as
from gz_testauto.base.registry import unknown_name
from gz_testauto.base.resources import WORLDS_MANIFEST
from gz_testauto.base.xml_file import parse_xml
from gz_testauto.sampling.difficulty import Difficulty
from gz_testauto.spec.worlds import name_of_world
from gz_testauto.worlds.record import ObstacleRecord, WorldRecord

MANIFEST = WORLDS_MANIFEST
SCHEMA_VERSION = 1
_PATTERNS = ("*.world", "*.world.xacro", "*.sdf", "*.sdf.xacro")


@dataclass(frozen=True)
class WorldSet:
    """The worlds of one directory, in order.

    ``inputs`` are the inputs from which the worlds were generated: the seed, hashes of files, the
    pattern and the mission. It is empty for a directory without a manifest.
    """

    directory: Path
    worlds: Tuple[WorldRecord, ...]
    inputs: Mapping[str, Any]
    coverage: Optional[Mapping[str, float]] = None
    """Discrepancy of the stratified worlds, and the mean discrepancy of independent worlds; None
    for worlds that were sampled independently."""

    def __len__(self) -> int:
        return len(self.worlds)

    def __iter__(self) -> Any:
        return iter(self.worlds)


def sha256_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def file_record(index: int, path: Path, content: bytes) -> WorldRecord:
    content_hash = _hash_without_layout(content)
    name = name_of_world(path.name)
    return WorldRecord(index, name, path, sha256_of(content), content_sha256=content_hash)


def _hash_without_layout(content: bytes) -> str:
    try:
        root = parse_xml(content, remove_comments=True)
    except etree.XMLSyntaxError:
        return ""
    for element in root.iter(etree.Element):
        texts = element.text or "", element.tail or ""
        element.text, element.tail = (" ".join(text.split()) for text in texts)
    for world in root.iter("world"):
        world.attrib.pop("name", None)
    try:
        return sha256_of(etree.tostring(root, method="c14n"))
    except etree.C14NError:  # for references to entities, which are not resolved
        return ""


def manifest_bytes(worlds: WorldSet) -> bytes:
    """Return the content of ``worlds.json`` in UTF-8, with one line per world."""
    head = {"schema_version": SCHEMA_VERSION, "count": len(worlds), "inputs": dict(worlds.inputs)}
    if worlds.coverage is not None:
        head["coverage"] = dict(worlds.coverage)
    start = json.dumps(head, indent=1, ensure_ascii=False)[:-2]
    lines = ",\n".join("  " + json.dumps(_to_json(e), ensure_ascii=False) for e in worlds.worlds)
    return f'{start},\n "worlds": [\n{lines}\n ]\n}}\n'.encode()


def read_worlds(directory: Path, files: Optional[Collection[str]] = None) -> WorldSet:
    """Return the worlds in the manifest of a directory. Without a manifest, return all ``.world``
    and ``.world.xacro`` files, sorted by name; of two files for one world only the ``.world`` file.

    ``files`` selects worlds by file name, also ``.sdf`` and ``.sdf.xacro`` files. Raises
    ``SpecError`` if there are no worlds, for an invalid manifest, and for a file that is missing or
    differs from the manifest.
    """
    directory = Path(directory).absolute()
    if not os.path.isdir(directory):
        raise SpecError(f"{directory}: the directory does not exist")
    if os.path.exists(directory / MANIFEST):
        worlds = _read_manifest(directory)
        if files is None:
            return worlds
        _require_files(directory, files, [entry.path.name for entry in worlds])
        selected_worlds = tuple(entry for entry in worlds if entry.path.name in files)
        return replace(worlds, worlds=selected_worlds)
    if files is None:
        paths = world_files(directory)
    else:
        paths = sorted(path for pattern in _PATTERNS for path in directory.glob(pattern))
        _require_files(directory, files, [path.name for path in paths])
        paths = [path for path in paths if path.name in files]
    if not paths:
        raise SpecError(
            f"{directory}: the directory contains no .world files; specify another directory"
        )
    entries = [
        file_record(index, path, read_input(path, SpecError)) for index, path in enumerate(paths)
    ]
    return WorldSet(directory, tuple(entries), {})


def world_files(directory: Path) -> List[Path]:
    originals = unused_originals(directory)
    paths = (*directory.glob("*.world"), *directory.glob("*.world.xacro"))
    return sorted(path for path in paths if path not in originals)


def unused_originals(directory: Path) -> List[Path]:
    """Return the ``.world.xacro`` files that are expanded to a ``.world`` file next to them."""
    return sorted(
        path for path in directory.glob("*.world.xacro") if path.with_suffix("").is_file()
    )


def _require_files(directory: Path, files: Collection[str], existing_files: Sequence[str]) -> None:
    for name in files:
        if name not in existing_files:
            raise SpecError(f"{directory}: {unknown_name('world', name, existing_files)}")


def _read_manifest(directory: Path) -> WorldSet:
    path = directory / MANIFEST
    data = read_manifest_data(path)
    content = validate_as(_ManifestContent, data, str(path), SpecError, "generate the worlds again")
    entries = tuple(
        _create_record(index, world, directory) for index, world in enumerate(content.worlds)
    )
    if not entries:
        raise SpecError(f"{path}: the file lists no worlds; generate the worlds again")
    repeated_names = [
        name for name, count in Counter(entry.name for entry in entries).items() if count > 1
    ]
    if repeated_names:
        raise SpecError(
            f"{path}: the file is damaged: it lists {repeated_names[0]} twice; generate the worlds "
            "again"
        )
    for entry in entries:
        if not os.path.isfile(entry.path):
            raise SpecError(
                f"{entry.path}: the file is missing, but {MANIFEST} lists it; generate the worlds "
                "again"
            )
        if sha256_of(read_input(entry.path, SpecError)) != entry.sha256:
            raise SpecError(
                f"{entry.path}: the file differs from its hash in {MANIFEST}; generate the worlds "
                f"again, or remove {MANIFEST} to use the files as they are"
            )
    return WorldSet(directory, entries, content.inputs, content.coverage)


def read_manifest_data(path: Path) -> Dict[str, Any]:
    """Return the JSON object in a manifest. Raises ``SpecError`` if it is invalid."""
    data = read_json_object(path, SpecError, MOST_BYTES)
    version = data.get("schema_version")
    if version != SCHEMA_VERSION:
        raise SpecError(
            f"{path}: the file has schema version {version}, but this program reads version "
            f"{SCHEMA_VERSION}; generate the worlds again"
        )
    return dict(data)


def _to_json(entry: WorldRecord) -> Dict[str, Any]:
    difficulty = entry.difficulty
    return {
        "name": entry.name,
        "file": entry.path.name,
        "sha256": entry.sha256,
        "shortest_path_m": entry.shortest_path_m,
        "difficulty": None if difficulty is None else vars(difficulty),
        "redrawn": entry.redrawn,
        "obstacles": [vars(obstacle) for obstacle in entry.obstacles],
    }


@dataclass(frozen=True)
class _ListedWorld:
    name: str
    file: str
    sha256: str
    obstacles: Tuple[ObstacleRecord, ...]
    shortest_path_m: Optional[float]
    difficulty: Optional[Difficulty]
    redrawn: int


@dataclass(frozen=True)
class _ManifestContent:
    """The parts of a manifest of worlds that are validated."""

    worlds: Tuple[_ListedWorld, ...]
    inputs: Mapping[str, Any]
    coverage: Optional[Mapping[str, float]] = None


def _create_record(index: int, world: _ListedWorld, directory: Path) -> WorldRecord:
    values = {**vars(world), "path": directory / Path(world.file).name}
    del values["file"]
    return WorldRecord(index, **values)
