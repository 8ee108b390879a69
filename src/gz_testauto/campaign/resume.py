"""Create a campaign in a directory, or resume an existing one.

Chooses between the two, and defines the order in which a directory is written: manifest, campaign,
worlds, store. If the process is killed between any two of them, the next run continues.
"""

import os
import shutil
from dataclasses import replace
from typing import List, Optional, Tuple

from pydantic import ValidationError

from gz_testauto.base.errors import ResultsError, SpecError
from gz_testauto.base.json_file import read_json_object
from gz_testauto.base.registry import unknown_name
from gz_testauto.campaign.world_source import gather_worlds
from gz_testauto.metrics.interface import (
    RELEVANT_SUCCESS,
    SUCCESS,
    Metric,
    installed_metrics,
)
from gz_testauto.metrics.reported import (
    REPORTED,
    drawn,
    of_companion,
    published_by_stack,
    recorded,
)
from gz_testauto.metrics.tasks import task_metrics
from gz_testauto.randomization.terms import PREFIX
from gz_testauto.results.comparability import file_sha256
from gz_testauto.results.directory import CampaignDirectory, reporting_disk, write_atomically
from gz_testauto.results.inputs import PLANNER_CODE, further_files
from gz_testauto.results.manifest import Manifest
from gz_testauto.results.store import ResultStore
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.missions import Missions
from gz_testauto.trial.plan import may_be_run
from gz_testauto.trial.setup import PreparedCampaign, prepare, read_body
from gz_testauto.worlds.record import WorldRecord
from gz_testauto.worlds.source import missions_of, world_source


def open_or_create_campaign(
    spec: CampaignSpec, directory: CampaignDirectory, world_workers: int = 1
) -> Tuple[PreparedCampaign, ResultStore]:
    """Create a campaign in a directory, or resume an existing one. Up to ``world_workers``
    processes generate its worlds.

    The caller holds the lock. Existing files are kept, however early the runner was killed. A
    different campaign replaces the previous one only if that has no valid trial and no trajectory.
    Raises ``ResultsError``, and the errors of reading worlds and robot.
    """
    robot = read_body(spec)
    declared = _declared(spec)
    manifest = Manifest.of(spec, further_files(spec, robot))
    directory.remove_unfinished()
    store = _open_store(manifest, directory) if directory.is_begun else None
    try:
        if store is None or not store.holds_valid_trial():
            manifest.write(directory)  # first: it makes the directory ours
            text = spec.model_dump_json(indent=2)
            write_atomically(directory.campaign, text.encode("utf-8"))
        worlds = gather_worlds(spec, robot, directory.worlds, world_workers)
        campaign = prepare(spec, robot, worlds, missions_of(spec, directory.worlds))
        if store is None:
            names = [planner.name for planner in spec.planners]
            planned = sum(may_be_run(spec, trial) for trial in campaign.trials)
            store = ResultStore.create(directory, spec.name, names, worlds, planned, spec.stop)
        store.declare(declared, spec.metrics.smallest_relevant.get(SUCCESS, RELEVANT_SUCCESS))
        require_same_worlds(store.worlds(), worlds)
    except BaseException:
        if store is not None:
            store.close()
        raise
    return campaign, store


def open_for_replay(directory: CampaignDirectory, store: ResultStore) -> PreparedCampaign:
    """Return the campaign of a directory as its trials were run; write nothing.

    Planners can have changed: :func:`changed_planners` lists them. Raises ``ResultsError`` that
    names any other changed input.
    """
    spec = _begun(directory)
    robot = read_body(spec)
    now = Manifest.of(spec, further_files(spec, robot))
    now.require_same(Manifest.read(directory), directory, but_for=PLANNER_CODE)
    worlds = tuple(find_world(world, directory) for world in store.worlds())
    return prepare(spec, robot, worlds, missions_of(spec, directory.worlds))


def changed_planners(directory: CampaignDirectory, campaign: PreparedCampaign) -> List[str]:
    """Return the planner plug-ins whose code has changed since the directory's trials."""
    now = Manifest.of(campaign.spec, further_files(campaign.spec, campaign.robot))
    names = now.differing_inputs(Manifest.read(directory))
    return [name.split(PLANNER_CODE)[1] for name in names if PLANNER_CODE in name]


def read_campaign(directory: CampaignDirectory) -> Tuple[CampaignSpec, Missions]:
    """Return the campaign of a directory, and the missions in its worlds. Raises ``ResultsError``,
    and ``SpecError`` where a mission has changed."""
    spec = _begun(directory)
    return spec, missions_of(spec, directory.worlds)


def _begun(directory: CampaignDirectory) -> CampaignSpec:
    """Return the stored campaign, without its worlds."""
    path = directory.campaign
    if not os.path.isfile(path) and Manifest.read(directory).is_imported:
        raise ResultsError(
            f"{directory.path}: was imported, and has neither the campaign nor recordings; only "
            "report, compare and gate accept it"
        )
    data = read_json_object(path, ResultsError)
    try:
        return CampaignSpec.kind_of(data).model_validate(data, context={"source": path})
    except ValidationError as error:
        faults = (f"{'.'.join(map(str, fault['loc']))} {fault['msg']}" for fault in error.errors())
        raise ResultsError(f"{path}: {'; '.join(faults)}") from error


def _declared(spec: CampaignSpec) -> Tuple[Metric, ...]:
    """Return the possible metrics of the campaign's trials, with the smallest relevant differences
    of the campaign. Raises ``SpecError`` if it sets one of an unknown metric."""
    own = (published_by_stack(one.name, one.unit, one.better) for one in spec.published_metrics)
    terms = (drawn(PREFIX + term.name) for term in spec.randomize)
    robots = (metric for one in spec.robots for metric in of_companion(one.name))
    source = world_source(spec)
    numbers = () if source is None else source.recorded_numbers()
    scenario = (recorded(name) for name in numbers)
    found = (
        *installed_metrics(),
        *task_metrics(spec),
        *REPORTED.values(),
        *own,
        *terms,
        *robots,
        *scenario,
    )
    relevant = spec.metrics.smallest_relevant
    known = {SUCCESS, *(metric.name for metric in found)}
    for name in relevant:
        if name not in known:
            raise SpecError(
                f"campaign {spec.name}: metrics.smallest_relevant: "
                f"{unknown_name('metric', name, known)}"
            )
    return tuple(
        replace(metric, smallest_relevant=relevant[metric.name])
        if metric.name in relevant
        else metric
        for metric in found
    )


def find_world(world: WorldRecord, directory: CampaignDirectory) -> WorldRecord:
    """Return the world with its present path: a generated one moves with its directory. Raises
    ``ResultsError`` if its file is missing or has changed."""
    moved = directory.worlds / f"{world.name}.world"
    path = moved if os.path.isfile(moved) else world.path
    if file_sha256(path) != world.sha256:
        raise ResultsError(f"{path}: has changed since trials were run in it; restore it")
    return replace(world, path=path)


def _open_store(manifest: Manifest, directory: CampaignDirectory) -> Optional[ResultStore]:
    """Return the store to continue, or None if a new one must be created."""
    stored = Manifest.read(directory)
    store = ResultStore.open(directory)
    if store is None:
        _require_no_trajectories(directory, "is missing or empty")
    try:
        if store is not None and store.holds_valid_trial():
            manifest.require_same(stored, directory)
            return store
        if manifest.is_same(stored):
            return store
        _require_no_trajectories(directory, "holds no valid trial")
    except BaseException:
        if store is not None:
            store.close()
        raise
    if store is not None:
        store.close()
    _clear(directory)
    return None


def _require_no_trajectories(directory: CampaignDirectory, state: str) -> None:
    """Raise ``ResultsError`` if there are trajectories that the store does not contain."""
    found = sum(1 for _ in directory.trajectories.glob("*.npz"))
    if found:
        raise ResultsError(
            f"{directory.results}: {state}, but the directory has "
            f"{'1 trajectory' if found == 1 else f'{found} trajectories'}. Restore the file from a "
            f"copy, or give another --out; to run all trials again, remove "
            f"{directory.trajectories} first"
        )


def _clear(directory: CampaignDirectory) -> None:
    """Remove the files of another campaign without a valid trial."""
    with reporting_disk(directory.path):
        for folder in (directory.worlds, directory.trajectories):
            if os.path.isdir(folder):
                shutil.rmtree(folder)
        journal = directory.results.with_name(directory.results.name + "-journal")
        for file in (directory.results, journal, directory.log):
            if os.path.exists(file):
                file.unlink()


def require_same_worlds(stored: Tuple[WorldRecord, ...], worlds: Tuple[WorldRecord, ...]) -> None:
    """Raise ``ResultsError`` if a world's file, or its published numbers, differ from those of
    earlier trials."""
    now = {world.name: world.sha256 for world in worlds}
    published = {world.name: world.published for world in worlds}
    for world in stored:
        if world.name in now and dict(published[world.name]) != dict(world.published):
            raise ResultsError(
                f"{world.path}: worlds.published is {dict(published[world.name])} now, and was "
                f"{dict(world.published)} when trials were run in it; restore its source files, or "
                "give another --out"
            )
        if now.get(world.name) != world.sha256:
            happened = "has changed" if world.name in now else "was removed"
            raise ResultsError(
                f"{world.path}: {happened} since trials were run in it; restore it, or give "
                "another --out"
            )
