"""Beginning a campaign in a directory, or taking up the one that was begun there.

Owns the decision which of the two it is, and the order in which a directory comes to be:
manifest, campaign, worlds, store. Killed between any two of them, the next run goes on.
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


def enter_directory(
    spec: CampaignSpec, directory: CampaignDirectory, world_workers: int = 1
) -> Tuple[PreparedCampaign, ResultStore]:
    """Begin a campaign in a directory, or take up the one that was begun there. Up to
    ``world_workers`` processes make its worlds.

    The caller holds the lock. What has been made so far is kept, however early the runner was
    killed, and what might be results is never removed: only where no trial has been valid and
    there is no trajectory may the campaign be another one than before, which begins it anew.
    Raises ``ResultsError``, and what reading worlds and robot raises.
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


def reopen(directory: CampaignDirectory, store: ResultStore) -> PreparedCampaign:
    """The campaign of a directory as its trials met it, for looking back; writes nothing.

    Planners may have been changed meanwhile: :func:`changed_planners` tells. Raises
    ``ResultsError`` naming what else is no longer as it was.
    """
    spec = _begun(directory)
    robot = read_body(spec)
    now = Manifest.of(spec, further_files(spec, robot))
    now.require_same(Manifest.read(directory), directory, but_for=PLANNER_CODE)
    worlds = tuple(find_world(world, directory) for world in store.worlds())
    return prepare(spec, robot, worlds, missions_of(spec, directory.worlds))


def changed_planners(directory: CampaignDirectory, campaign: PreparedCampaign) -> List[str]:
    """Plugins whose code is not what the directory's trials were run with."""
    now = Manifest.of(campaign.spec, further_files(campaign.spec, campaign.robot))
    names = now.differing_inputs(Manifest.read(directory))
    return [name.split(PLANNER_CODE)[1] for name in names if PLANNER_CODE in name]


def read_campaign(directory: CampaignDirectory) -> Tuple[CampaignSpec, Missions]:
    """Return the campaign of a directory, and the missions in its worlds. Raises ``ResultsError``,
    and ``SpecError`` where a mission has changed."""
    spec = _begun(directory)
    return spec, missions_of(spec, directory.worlds)


def _begun(directory: CampaignDirectory) -> CampaignSpec:
    """The campaign as it was written before there were worlds."""
    path = directory.campaign
    if not os.path.isfile(path) and Manifest.read(directory).is_imported:
        raise ResultsError(
            f"{directory.path}: was imported, and holds neither the campaign nor recordings; only "
            "report, compare and gate take it"
        )
    data = read_json_object(path, ResultsError)
    try:
        return CampaignSpec.kind_of(data).model_validate(data, context={"source": path})
    except ValidationError as error:
        faults = (f"{'.'.join(map(str, fault['loc']))} {fault['msg']}" for fault in error.errors())
        raise ResultsError(f"{path}: {'; '.join(faults)}") from error


def _declared(spec: CampaignSpec) -> Tuple[Metric, ...]:
    """The metrics that the campaign's trials may have, with the smallest relevant differences that
    the campaign sets. Raises ``SpecError`` where it sets one of a metric that there is not."""
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
    """The world where it is now: a generated one moves with its directory. Raises ``ResultsError``
    where its file is gone or has changed."""
    moved = directory.worlds / f"{world.name}.world"
    path = moved if os.path.isfile(moved) else world.path
    if file_sha256(path) != world.sha256:
        raise ResultsError(f"{path}: has changed since trials were run in it; restore it")
    return replace(world, path=path)


def _open_store(manifest: Manifest, directory: CampaignDirectory) -> Optional[ResultStore]:
    """The store to go on with, or None when one is to be made."""
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


def _require_no_trajectories(directory: CampaignDirectory, what_is_wrong: str) -> None:
    """Raise ``ResultsError`` where results lie that the store does not know."""
    found = sum(1 for _ in directory.trajectories.glob("*.npz"))
    if found:
        raise ResultsError(
            f"{directory.results}: {what_is_wrong}, but there "
            f"{'is 1 trajectory' if found == 1 else f'are {found} trajectories'} beside it. Put "
            f"the file back from a copy, or give another --out; to run all trials again, remove "
            f"{directory.trajectories} first"
        )


def _clear(directory: CampaignDirectory) -> None:
    """Remove what another campaign, without a valid trial, left behind."""
    with reporting_disk(directory.path):
        for folder in (directory.worlds, directory.trajectories):
            if os.path.isdir(folder):
                shutil.rmtree(folder)
        journal = directory.results.with_name(directory.results.name + "-journal")
        for file in (directory.results, journal, directory.log):
            if os.path.exists(file):
                file.unlink()


def require_same_worlds(stored: Tuple[WorldRecord, ...], worlds: Tuple[WorldRecord, ...]) -> None:
    """Raise ``ResultsError`` if a world's file, or what is published of it, is not what earlier
    trials met."""
    now = {world.name: world.sha256 for world in worlds}
    published = {world.name: world.published for world in worlds}
    for world in stored:
        if world.name in now and dict(published[world.name]) != dict(world.published):
            raise ResultsError(
                f"{world.path}: worlds.published says {dict(published[world.name])} of it now, and "
                f"{dict(world.published)} when trials were run in it; restore the files that say "
                "so, or give another --out"
            )
        if now.get(world.name) != world.sha256:
            happened = "has changed" if world.name in now else "is gone"
            raise ResultsError(
                f"{world.path}: {happened} since trials were run in it; restore it, or give "
                "another --out"
            )
