"""Writes the worlds of a scenario into a directory.

Owns the directory: worlds, ``models/``, a mission and a plan view for each world, ``worlds.json``.
It appears whole or not at all, and nothing that is there already is removed: a directory that
holds anything but the same scenario's worlds is refused.
"""

import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple, Union

from gz_testauto.disk import write_whole, writing
from gz_testauto.errors import SpecError
from gz_testauto.scenic.mission import mission_bytes
from gz_testauto.scenic.source import ScenicSource, ScenicWorld
from gz_testauto.worlds.manifest import (
    MANIFEST,
    WorldSet,
    manifest_bytes,
    read_manifest_data,
    sha256_of,
)
from gz_testauto.worlds.multiply import Progress
from gz_testauto.worlds.record import WorldRecord


def write_scenes(
    source: ScenicSource,
    count: int,
    out: Path,
    plots: bool = True,
    progress: Optional[Progress] = None,
) -> WorldSet:
    """Write worlds 0 to ``count`` - 1 and all they need to the directory ``out``.

    A directory that holds worlds of the same inputs is completed. Raises ``SpecError``,
    ``PlacementError`` or ``DiskError``; ``out`` is then as it was.
    """
    if count < 1:
        raise SpecError(f"-n is {count}; it must be >= 1")
    out = Path(out).absolute()
    inputs = source.inputs
    _check_target(out, inputs, count)
    with writing(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=str(out.parent)))
    try:
        with writing(out):
            scratch.chmod(0o755)
            records: List[WorldRecord] = []
            for index in range(count):
                records.append(_write_world(source, source.make(index), scratch, plots))
                if progress is not None:
                    progress(index + 1, count)
            for name, held in source.shared_files.items():
                _put(scratch / name, held)
            made = WorldSet(out, tuple(records), inputs)
            _put(scratch / MANIFEST, manifest_bytes(made))
            _put_in_place(scratch, out)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return replace(made, worlds=tuple(replace(r, path=out / r.path.name) for r in records))


def files_of(
    source: ScenicSource, world: ScenicWorld, plots: bool = True
) -> Dict[str, Union[Path, bytes]]:
    """The files of one world but those that all share, by their path in the output."""
    files: Dict[str, Union[Path, bytes]] = dict(world.files)
    files[f"{world.name}.world"] = world.content
    files[f"{world.name}.yaml"] = mission_bytes(world.mission)
    if plots:
        png, svg = source.picture(world)
        files.update({f"{world.name}.png": png, f"{world.name}.svg": svg})
    return files


def record_of(world: ScenicWorld, directory: Path) -> WorldRecord:
    """The manifest's entry of a world."""
    return WorldRecord(
        world.index,
        world.name,
        directory / f"{world.name}.world",
        sha256_of(world.content),
        obstacles=world.obstacles,
        redrawn=world.draws - 1,
    )


def _write_world(
    source: ScenicSource, world: ScenicWorld, directory: Path, plots: bool
) -> WorldRecord:
    for name, held in files_of(source, world, plots).items():
        _put(directory / name, held)
    return record_of(world, directory)


def _put(path: Path, held: Union[Path, bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(held if isinstance(held, bytes) else held.read_bytes())


def _check_target(out: Path, inputs: Dict[str, Any], count: int) -> None:
    if not out.exists():
        return
    if not out.is_dir():
        raise SpecError(f"{out}: is a file; name a directory")
    if not any(out.iterdir()):
        return
    if not (out / MANIFEST).is_file():
        raise SpecError(f"{out}: holds other files; name another directory")
    before = read_manifest_data(out / MANIFEST)
    there = before.get("inputs", {})
    differing = [key for key in {**inputs, **there} if there.get(key) != inputs.get(key)]
    if differing:
        raise SpecError(
            f"{out}: holds worlds made from other inputs ({', '.join(differing)} "
            f"{'differs' if len(differing) == 1 else 'differ'}): name another directory"
        )
    if int(before.get("count", 0)) > count:
        raise SpecError(
            f"{out}: holds {before.get('count')} worlds of this scenario already; ask for as many "
            "or name another directory"
        )


def _put_in_place(scratch: Path, out: Path) -> None:
    """Give the finished files their place; what is there already stays, or is what it was."""
    if not out.exists() or not any(out.iterdir()):
        os.rename(scratch, out)
        return
    manifest: Tuple[Path, bytes] = (out / MANIFEST, (scratch / MANIFEST).read_bytes())
    for path in sorted(scratch.rglob("*")):
        target = out / path.relative_to(scratch)
        if path.is_dir():
            target.mkdir(exist_ok=True)
        elif path.name != MANIFEST or path.parent != scratch:
            content = path.read_bytes()
            if not target.is_file() or target.read_bytes() != content:
                write_whole(target, content)
    write_whole(*manifest)
