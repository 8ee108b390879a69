"""Writing of the worlds of a Scenic program into a directory.

The directory is written completely or not at all. Existing files are never removed: a directory
with other content is rejected.
"""

import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple, Union

import yaml

from gz_testauto.base.disk import (
    disk_errors,
    make_directory,
    make_scratch_directory,
    read_file,
    rename_directory,
    replace_file,
)
from gz_testauto.base.errors import SpecError
from gz_testauto.extras.scenic.source import ScenicSource, ScenicWorld
from gz_testauto.processes import map_in_processes
from gz_testauto.worlds.manifest import (
    MANIFEST,
    WorldSet,
    manifest_bytes,
    read_manifest_data,
    sha256_of,
)
from gz_testauto.worlds.record import Progress, WorldRecord

ALONE_S = 5.0
"""Time after which processes start to generate worlds in parallel, about that of starting a process
and compiling a program."""


def write_scenes(
    source: ScenicSource,
    count: int,
    out: Path,
    plots: bool = True,
    progress: Optional[Progress] = None,
    workers: int = 1,
    draw_progress: Optional[Progress] = None,
) -> WorldSet:
    """Write ``count`` worlds, with all files that they need, to ``out``.

    ``progress`` is called after each world, and ``draw_progress`` before each draw, but not by
    parallel processes. Existing worlds with the same inputs are kept, and missing worlds are added.
    After an error, ``out`` is unchanged.
    """
    if count < 1:
        raise SpecError(f"-n is {count}; it must be at least 1")
    out = Path(out).absolute()
    inputs = source.inputs
    _check_target(out, inputs, count)
    with disk_errors(out):
        make_directory(out.parent)
        scratch = make_scratch_directory(out)
    try:
        with disk_errors(out):
            records: List[WorldRecord] = []
            for record in _generate_worlds(
                _Generator(source, scratch, plots), count, workers, draw_progress
            ):
                records.append(record)
                if progress is not None:
                    progress(len(records), count)
            world_set = WorldSet(out, tuple(records), inputs)
            _write_file(scratch / MANIFEST, manifest_bytes(world_set))
            _put_in_place(scratch, out)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return replace(world_set, worlds=tuple(replace(r, path=out / r.path.name) for r in records))


def files_of(
    source: ScenicSource, world: ScenicWorld, plots: bool = True
) -> Dict[str, Union[Path, bytes]]:
    """Return the files of one world by path, except those that all worlds share."""
    files: Dict[str, Union[Path, bytes]] = dict(world.files)
    files[f"{world.name}.world"] = world.content
    mission: str = yaml.safe_dump(world.mission, default_flow_style=False, allow_unicode=True)
    files[f"{world.name}.yaml"] = mission.encode()
    if plots:
        png, svg = source.picture(world)
        files.update({f"{world.name}.png": png, f"{world.name}.svg": svg})
    return files


class _Generator:
    def __init__(self, source: ScenicSource, directory: Path, plots: bool) -> None:
        self.source, self._directory, self._plots = source, directory, plots

    def __call__(self, index: int, progress: Optional[Progress] = None) -> WorldRecord:
        world = self.source.generate(index, progress)
        for name, content in files_of(self.source, world, self._plots).items():
            _write_file(self._directory / name, content)
        for name, content in self.source.shared_files.items():
            if not (self._directory / name).exists():
                _write_file(self._directory / name, content)
        return WorldRecord(
            world.index,
            world.name,
            self._directory / f"{world.name}.world",
            sha256_of(world.content),
            obstacles=world.obstacles,
            redrawn=world.draws - 1,
        )


def _generate_worlds(
    generator: _Generator, count: int, workers: int, draw_progress: Optional[Progress]
) -> Iterator[WorldRecord]:
    start_s = time.monotonic()
    index = 0
    while index < count and (workers < 2 or time.monotonic() - start_s < ALONE_S):
        yield generator(index, draw_progress)
        index += 1
    workers = min(workers, count - index)
    if workers > 0:
        activity = f"generating worlds of {generator.source.scenario}"
        yield from map_in_processes(generator, range(index, count), workers, activity)


def _write_file(path: Path, content: Union[Path, bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else read_file(content))


def _check_target(out: Path, inputs: Dict[str, Any], count: int) -> None:
    if not out.exists():
        return
    if not out.is_dir():
        raise SpecError(f"{out}: the output directory is a file; specify a directory")
    if not any(out.iterdir()):
        return
    if not (out / MANIFEST).is_file():
        raise SpecError(f"{out}: the directory contains other files; specify another directory")
    manifest = read_manifest_data(out / MANIFEST)
    stored = manifest.get("inputs", {})
    differing = [key for key in {**inputs, **stored} if stored.get(key) != inputs.get(key)]
    if differing:
        raise SpecError(
            f"{out}: the worlds in this directory were generated with other values of "
            f"{', '.join(differing)}; specify another directory"
        )
    if int(manifest.get("count", 0)) > count:
        raise SpecError(
            f"{out}: the directory already contains {manifest.get('count')} worlds of this "
            "program; request at least this number, or specify another directory"
        )


def _put_in_place(scratch: Path, out: Path) -> None:
    """Move the finished files to ``out``. An existing file is replaced only if it differs."""
    if not out.exists() or not any(out.iterdir()):
        rename_directory(scratch, out)
        return
    manifest: Tuple[Path, bytes] = (out / MANIFEST, (scratch / MANIFEST).read_bytes())
    for path in sorted(scratch.rglob("*")):
        target = out / path.relative_to(scratch)
        if path.is_dir():
            target.mkdir(exist_ok=True)
        elif path.name != MANIFEST or path.parent != scratch:
            content = path.read_bytes()
            if not target.is_file() or target.read_bytes() != content:
                replace_file(target, content)
    replace_file(*manifest)
