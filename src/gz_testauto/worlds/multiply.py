"""Generate many worlds from one base world, each with different random obstacles.

World *i* depends only on the seed and *i*, not on the number of worlds or the order of generation.
"""

import json
import math
import os
import re
import shutil
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Pattern, Sequence, Tuple

import numpy
import scipy
import shapely

from gz_testauto import __version__
from gz_testauto.base.description_files import XACRO
from gz_testauto.base.disk import (
    disk_errors,
    hash_file,
    make_directory,
    make_scratch_directory,
    read_input,
    rename_directory,
    replace_file,
    synchronize,
)
from gz_testauto.base.errors import PlacementError, SpecError
from gz_testauto.sampling.placement import Placer
from gz_testauto.sampling.regions import spec_for_site
from gz_testauto.sampling.seeds import WORLD, child_generator
from gz_testauto.sampling.sequences import UnitSequence
from gz_testauto.sampling.site import RequiredMission, Site, circumscribed_radius_m
from gz_testauto.sdf.floor import ANY_ROBOT, obstructing_heights
from gz_testauto.sdf.includes import read_world
from gz_testauto.sdf.robot import read_outline
from gz_testauto.spec.obstacles import ObstacleSpec, SolvableMissionSpec
from gz_testauto.worlds.base import BaseWorld
from gz_testauto.worlds.manifest import (
    MANIFEST,
    WorldSet,
    manifest_bytes,
    read_manifest_data,
    sha256_of,
)
from gz_testauto.worlds.record import ObstacleRecord, Progress, WorldRecord, generated_name

# Wall time after which the manifest of the worlds generated so far is written.
SAVE_PERIOD_S = 3.0

WORLD_FILE = re.compile(r"world_\d{4,}\.world")


def required_mission(spec: Optional[SolvableMissionSpec]) -> Optional[RequiredMission]:
    if spec is None or spec.start is None or spec.goal is None:
        return None
    robot = None if spec.robot is None else read_outline(spec.robot)
    outline, body_m = spec.footprint_m, spec.height_m
    if robot is not None:
        outline, body_m = outline or list(robot.footprint_m), body_m or robot.height_m
    if outline is None:
        return None
    heights = ANY_ROBOT if body_m is None else obstructing_heights(body_m)
    return RequiredMission(spec.start, spec.goal, circumscribed_radius_m(outline), heights)


def mission_record(mission: RequiredMission) -> Dict[str, Any]:
    record: Dict[str, Any] = {
        "start": list(mission.start),
        "goal": list(mission.goal),
        "radius_m": mission.radius_m,
        "heights_m": list(mission.heights),
    }
    if mission.via:
        record["via"] = [list(point) for point in mission.via]
    return record


class WorldGenerator:
    """A generator of single worlds, in any order, from one base world, specification and seed.

    ``mission`` replaces that of the specification. ``before_step`` is that of :class:`Site`. Raises
    ``SpecError``, ``SdfError`` or ``PlacementError`` if no worlds can be generated from these
    inputs.
    """

    def __init__(
        self,
        base: BaseWorld,
        spec: ObstacleSpec,
        seed: int,
        mission: Optional[RequiredMission] = None,
        before_step: Callable[[], None] = lambda: None,
    ) -> None:
        self._seed = seed
        obstacle_names = [model.name for model in base.obstacles]
        mission = mission or required_mission(spec.mission)
        site = Site.of(base.scene, mission, obstacle_names, before_step)
        spec = spec_for_site(spec, site)
        sampler = base.sampler(spec)
        self._placer = Placer(spec, site, sampler)
        self._template = base.template()
        self._method = spec.sampling.method
        self._missing_names = list(base.missing)
        self.sequence = UnitSequence(spec.sampling, sampler.dimensions, seed)

    def generate(self, index: int, directory: Path) -> WorldRecord:
        """Write world ``index`` into ``directory``, and return its record.

        Raises ``PlacementError`` if its obstacles cannot be placed.
        """
        name = generated_name(index)
        try:
            obstacle_set = self._placer.place(
                child_generator(self._seed, WORLD, index), self.sequence.point(index)
            )
        except PlacementError as error:
            raise PlacementError(f"{name}: {error}") from error
        content = self._template.fill(obstacle_set.obstacles)
        path = directory / f"{name}.world"
        path.unlink(missing_ok=True)  # an interrupted call leaves its last world
        path.write_bytes(content)
        return WorldRecord(
            index,
            name,
            path,
            sha256_of(content),
            obstacle_set.shortest_path_m,
            obstacles=tuple(ObstacleRecord.of(obstacle) for obstacle in obstacle_set.obstacles),
            difficulty=obstacle_set.difficulty,
            redrawn=obstacle_set.redrawn,
        )

    def extend(
        self,
        worlds: WorldSet,
        count: int,
        progress: Optional[Progress] = None,
        should_stop: Callable[[], bool] = lambda: False,
        target: Optional[Path] = None,
    ) -> WorldSet:
        """Generate further worlds in the directory of ``worlds``, and return all worlds.

        Stop after world ``count``, or if ``should_stop`` returns True. ``target`` is the directory
        in messages.

        The manifest is written after the first world, every few seconds and at the end, so that a
        call with the worlds in it continues after an interruption. Raises ``PlacementError`` or
        ``DiskError``.
        """
        entries, saved_s, saved_count = list(worlds), -math.inf, len(worlds)
        target = target or worlds.directory
        if self._missing_names:
            worlds = replace(worlds, inputs={**worlds.inputs, "missing": self._missing_names})
        while len(entries) < count and not should_stop():
            with disk_errors(target):
                entries.append(self.generate(len(entries), worlds.directory))
            if time.monotonic() - saved_s > SAVE_PERIOD_S:
                _save_manifest(
                    replace(worlds, worlds=tuple(entries), coverage=None), saved_count, target
                )
                saved_s, saved_count = time.monotonic(), len(entries)
            if progress is not None:
                progress(len(entries), count)
        worlds = replace(worlds, worlds=tuple(entries))
        if entries and self._method != "uniform":
            worlds = replace(worlds, coverage=self.sequence.coverage(len(entries))._asdict())
        _save_manifest(worlds, saved_count, target)
        return worlds


def _save_manifest(worlds: WorldSet, saved_count: int, target: Path) -> None:
    if len(worlds):
        with disk_errors(target):
            # The manifest must not list a file that a power failure can remove.
            for entry in worlds.worlds[saved_count:]:
                synchronize(entry.path)
            replace_file(worlds.directory / MANIFEST, manifest_bytes(worlds))


@dataclass(frozen=True)
class WorldRecipe:
    """All inputs that determine worlds, except their number; see :func:`multiply`."""

    base: Path
    spec: ObstacleSpec
    seed: int
    mission: Optional[RequiredMission] = None
    pattern: Optional[Pattern[str]] = None
    repair: bool = False
    plugins: bool = True
    allow_missing: Tuple[str, ...] = ()

    def inputs(self) -> Dict[str, Any]:
        """Return values by which the manifest identifies the inputs. Raises ``SpecError``."""
        # Paths in a specification do not identify their files; hashes do.
        spec_text = json.dumps(_without_paths(self.spec.model_dump(mode="json")), sort_keys=True)
        robot = None if self.spec.mission is None else self.spec.mission.robot
        files = [
            hash_file(path)
            if path == robot or path.suffix != XACRO
            else sha256_of(_content_of(path))
            for path in self.spec.files
            if os.path.isfile(path)
        ]
        inputs = {
            "seed": self.seed,
            "base": self.base.name,
            "base_sha256": sha256_of(_content_of(self.base)),
            "spec_sha256": sha256_of("\n".join([spec_text, *files]).encode()),
            "pattern": self.pattern.pattern if self.pattern else None,
            "repair": self.repair,
            "mission": None if self.mission is None else mission_record(self.mission),
            "versions": {
                "gz_testauto": __version__,
                "numpy": numpy.__version__,
                "scipy": scipy.__version__,
                "geos": shapely.geos_version_string,
            },
        }
        if not self.plugins:
            inputs["plugins"] = False
        if self.allow_missing:
            inputs["allow_missing"] = list(self.allow_missing)
        return inputs

    def generator(self, before_step: Callable[[], None] = lambda: None) -> WorldGenerator:
        base = BaseWorld(self.base, self.pattern, self.repair, self.plugins, self.allow_missing)
        return WorldGenerator(base, self.spec, self.seed, self.mission, before_step)


def multiply(
    base: Path,
    spec: ObstacleSpec,
    count: int,
    seed: int,
    out: Path,
    *,
    mission: Optional[RequiredMission] = None,
    pattern: Optional[Pattern[str]] = None,
    repair: bool = False,
    plugins: bool = True,
    allow_missing: Sequence[str] = (),
    force: bool = False,
    progress: Optional[Progress] = None,
) -> WorldSet:
    """Write ``count`` worlds and their manifest to the directory ``out``.

    Worlds from the same inputs are replaced. Worlds from other inputs are replaced only with
    ``force``, and a directory with other files is never changed. ``mission`` replaces that of the
    specification. ``pattern`` matches the random obstacles in ``base``; their number and types are
    kept. Without ``plugins``, the plug-ins of ``base`` and its includes are omitted. Missing
    resources in ``allow_missing`` (:mod:`gz_testauto.sdf.missing`) are omitted too, and are listed
    in ``inputs`` as ``missing``.

    Raises ``SpecError``, ``SdfError``, ``PlacementError`` or ``DiskError``, and does not change
    ``out`` in this case.
    """
    if count < 1:
        raise SpecError(f"count is {count}; it must be >= 1")
    if seed < 0:
        raise SpecError(f"seed is {seed}; it must be >= 0")
    out = Path(out).absolute()
    recipe = WorldRecipe(
        Path(base),
        spec,
        seed,
        mission or required_mission(spec.mission),
        pattern,
        repair,
        plugins,
        tuple(allow_missing),
    )
    inputs = recipe.inputs()
    _check_target(out, inputs, force)
    generator = recipe.generator()
    with disk_errors(out):
        make_directory(out.parent)
        scratch = make_scratch_directory(out)
    try:
        worlds = generator.extend(WorldSet(scratch, (), inputs), count, progress, target=out)
        with disk_errors(out):
            _replace_directory(scratch, out)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    final_entries = [replace(entry, path=out / entry.path.name) for entry in worlds]
    return replace(worlds, directory=out, worlds=tuple(final_entries))


def _content_of(path: Path) -> bytes:
    # The expanded text also depends on the files that a file in xacro includes.
    return read_world(path).to_bytes() if path.suffix == XACRO else read_input(path, SpecError)


def _without_paths(value: Any) -> Any:
    """Return a specification without file names, which differ between machines."""
    if isinstance(value, dict):
        return {
            key: _without_paths(inner)
            for key, inner in value.items()
            if key not in ("model", "mission")
        }
    if isinstance(value, list):
        return [_without_paths(inner) for inner in value]
    return value


def _check_target(directory: Path, inputs: Dict[str, Any], force: bool) -> None:
    if not os.path.exists(directory):
        return
    if not os.path.isdir(directory):
        raise SpecError(f"{directory}: is a file; choose a directory")
    names = [entry.name for entry in directory.iterdir()]
    foreign_names = sorted(n for n in names if n != MANIFEST and not WORLD_FILE.fullmatch(n))
    if foreign_names:
        raise SpecError(
            f"{directory}: the directory contains files that were not written by 'multiply' "
            f"({', '.join(foreign_names[:3])}{', ...' if len(foreign_names) > 3 else ''}); choose "
            "another directory"
        )
    if force or not names:
        return
    if not os.path.exists(directory / MANIFEST):
        raise SpecError(
            f"{directory}: the directory contains worlds, but no {MANIFEST}; replace the worlds "
            "with --force"
        )
    previous_inputs = read_manifest_data(directory / MANIFEST).get("inputs", {})
    differing_keys = differing_inputs(previous_inputs, inputs)
    if differing_keys:
        raise SpecError(
            f"{directory}: the directory contains worlds that were generated from other inputs "
            f"({', '.join(differing_keys)} {'differs' if len(differing_keys) == 1 else 'differ'}); "
            "choose another directory, or replace them with --force"
        )


def differing_inputs(first: Mapping[str, Any], second: Mapping[str, Any]) -> List[str]:
    names = [name for name in {**second, **first} if name != "missing"]  # a result, no input
    return [name for name in names if first.get(name) != second.get(name)]


def _replace_directory(scratch: Path, directory: Path) -> None:
    if not os.path.exists(directory):
        rename_directory(scratch, directory)
        return
    backup = Path(tempfile.mkdtemp(prefix=f".{directory.name}.old.", dir=str(directory.parent)))
    try:
        os.rename(directory, backup / directory.name)
        rename_directory(scratch, directory)
    except OSError:
        if not os.path.exists(directory) and os.path.exists(backup / directory.name):
            os.rename(backup / directory.name, directory)
        raise
    finally:
        shutil.rmtree(backup, ignore_errors=True)
