"""Create a campaign in a results directory, or resume an existing campaign.

Files are written in this order: manifest, campaign, worlds, store. If the process is killed between
two files, the next run of the campaign continues from there.
"""

import contextlib
import dataclasses
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable, List, Mapping, Optional, Sequence, Tuple

from pydantic import ValidationError

from gz_testauto.actors.conditional_effects import column_of, numbers_of
from gz_testauto.base.errors import ResultsError, SpecError
from gz_testauto.base.json_file import RESTORE, read_json_object
from gz_testauto.base.registry import unknown_name
from gz_testauto.base.truncation import MAX_NAMES
from gz_testauto.campaign.world_source import gather_worlds, with_expanded_base
from gz_testauto.metrics.interface import (
    RELEVANT_SUCCESS,
    SUCCESS,
    Metric,
    installed_metrics,
)
from gz_testauto.metrics.reported import (
    REPORTED,
    metric_of_active_time,
    metric_of_drawn_value,
    metric_of_recorded_value,
    metric_of_stack,
    metrics_of_companion,
)
from gz_testauto.metrics.tasks import task_metrics
from gz_testauto.randomization import PREFIX
from gz_testauto.results.comparability import MODULE, file_sha256
from gz_testauto.results.directory import CampaignDirectory, reporting_disk, write_atomically
from gz_testauto.results.inputs import NOT_FOLLOWED, PLANNER_CODE, further_files
from gz_testauto.results.manifest import Manifest, RobotExtent
from gz_testauto.results.store import ResultStore
from gz_testauto.sdf.robot import RobotBody
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.model import STORED
from gz_testauto.trial.executor import StopRequest
from gz_testauto.trial.plan import PreparedCampaign
from gz_testauto.trial.static_maps import scan_height_m
from gz_testauto.trial.testbed import TestBed, bed_of, read_body, robot_limits
from gz_testauto.worlds.mission_file import MISSIONS_FILE
from gz_testauto.worlds.record import Progress, WorldRecord
from gz_testauto.worlds.source import Missions, missions_of, world_source


def open_or_create_campaign(
    spec: CampaignSpec,
    directory: CampaignDirectory,
    world_workers: int = 1,
    *,
    world_count: Optional[int] = None,
    progress: Optional[Progress] = None,
    should_stop: StopRequest = lambda: False,
) -> Tuple[PreparedCampaign, ResultStore]:
    """Create a campaign in a results directory, or resume the campaign in it.

    Of the worlds with random obstacles, the first ``world_count`` are generated, by default all. If
    ``should_stop`` returns True, the campaign can have fewer worlds. The caller must hold the lock
    of the directory. Another campaign without a valid trial is replaced. Raises ``ResultsError`` if
    the directory is damaged or contains valid trials of another campaign, and the errors of worlds
    and robot.
    """
    robot = read_body(spec)
    declared_metrics = _declared_metrics(spec)
    manifest = Manifest.of(spec, further_files(spec, robot), _robot_extent(spec, robot))
    directory.remove_unfinished()
    store = _open_store(manifest, directory) if directory.is_begun else None
    try:
        if store is None or not store.holds_valid_trial():
            manifest.write(directory)  # written first, since it marks the results directory
            text = spec.model_dump_json(indent=2)
            write_atomically(directory.campaign, text.encode("utf-8"))
        stored_worlds = () if store is None else store.worlds()
        worlds = gather_worlds(
            spec,
            robot,
            directory.worlds,
            world_workers,
            count=None if world_count is None else max(world_count, len(stored_worlds)),
            stored_worlds=stored_worlds,
            progress=progress,
            should_stop=should_stop,
        )
        if should_stop():
            stored_worlds = stored_worlds[: len(worlds)]
        require_same_worlds(stored_worlds, worlds)
        missions = missions_of(spec, directory.worlds)
        bed = bed_of(with_expanded_base(spec, directory.worlds), robot)
        campaign = PreparedCampaign(bed, worlds, missions)
        names = [planner.name for planner in spec.planners]
        if store is None:
            store = ResultStore.create(directory, spec.name, names, (), 0, spec.stop)
        total_count = spec.worlds.total_count or len(worlds)
        planned_count = min(total_count, spec.most_worlds or total_count)
        further_count = max(0, planned_count - len(worlds))
        store.extend(worlds, planned_count * spec.repetitions * len(names), further_count)
        least_difference = spec.metrics.smallest_relevant.get(SUCCESS, RELEVANT_SUCCESS)
        store.declare(declared_metrics, least_difference, spec.normal_real_time_factor)
    except BaseException:
        if store is not None:
            store.close()
        raise
    return campaign, store


def open_for_replay(
    directory: CampaignDirectory,
    store: ResultStore,
    require_trust: Callable[[Sequence[CampaignSpec], Sequence[Path]], None],
) -> PreparedCampaign:
    """Return the campaign of a results directory with its inputs, without writing files.

    ``require_trust`` is called with the campaign and its world files, and raises an error if the
    user does not trust their programs. Raises ``ResultsError`` with the names of changed inputs,
    except the code of planners.
    """
    spec = _read_spec(directory)
    worlds = tuple(find_world(world, directory) for world in store.worlds())
    # Before anything else is read: models and launch files can execute expressions.
    require_trust([spec], [world.path for world in worlds])
    robot = read_body(spec)
    current_manifest = Manifest.of(spec, further_files(spec, robot))
    current_manifest.require_same(Manifest.read(directory), directory, ignored_prefix=PLANNER_CODE)
    missions = missions_of(spec, directory.worlds)
    return PreparedCampaign(
        bed_of(with_expanded_base(spec, directory.worlds), robot), worlds, missions
    )


def open_for_reading(
    directory: CampaignDirectory, worlds: Tuple[WorldRecord, ...]
) -> PreparedCampaign:
    """Return a campaign for drawings of its trials, without reading the files that it names.

    Raises ``ResultsError``, also if the extent of the robot is unknown.
    """
    # xacro would execute expressions in the robot's files, so that the extent of the robot is that
    # in the manifest.
    spec, missions = read_campaign(directory)
    extent = Manifest.read(directory).robot
    if extent is None:
        raise ResultsError(
            f"{directory.manifest}: the extent of the robot is unknown, since another version ran "
            "the trials; run the campaign again with a new directory for --out"
        )
    robot = spec.robot.model_copy(update=dataclasses.asdict(extent))
    robot_body = RobotBody(robot.name, extent.footprint_m, extent.height_m)
    spec = with_expanded_base(spec, directory.worlds)
    bed = TestBed(spec.model_copy(update={"robot": robot}), robot_body)
    return PreparedCampaign(bed, worlds, missions)


def _robot_extent(spec: CampaignSpec, robot: RobotBody) -> RobotExtent:
    footprint_m = robot_limits(spec, robot).footprint_m
    return RobotExtent(tuple(footprint_m), robot.height_m, scan_height_m(spec, robot))


def not_followed_notice(directory: CampaignDirectory) -> str:
    """Return a warning about input files whose paths are unknown, so that their changes cannot be
    detected; "" if there are none.
    """
    inputs = Manifest.read(directory).inputs
    unchecked_files = [
        f"  {name[len(NOT_FOLLOWED) :]}: {text}"
        for name, text in inputs.items()
        if name.startswith(NOT_FOLLOWED)
    ]
    if not unchecked_files:
        return ""
    hidden_count = len(unchecked_files) - MAX_NAMES
    lines = unchecked_files[:MAX_NAMES] + (
        [f"  and {hidden_count} more files"] if hidden_count > 0 else []
    )
    return "\n".join(
        [
            f"{NOT_FOLLOWED}the paths in these lines depend on the trial or on a program, so "
            "changes of their files are not detected:",
            *lines,
        ]
    )


def changed_planners(directory: CampaignDirectory, campaign: PreparedCampaign) -> List[str]:
    current_manifest = Manifest.of(campaign.spec, further_files(campaign.spec, campaign.bed.robot))
    names = current_manifest.differing_inputs(Manifest.read(directory))
    modules = (name[len(PLANNER_CODE) :] for name in names if name.startswith(PLANNER_CODE))
    return sorted({name.partition(MODULE)[0] for name in modules})


def read_campaign(directory: CampaignDirectory) -> Tuple[CampaignSpec, Missions]:
    """Return the stored campaign and its missions.

    Raises ``ResultsError`` for a damaged file, and ``SpecError`` if a start or goal has changed.
    """
    spec = _read_spec(directory)
    return spec, missions_of(spec, directory.worlds)


def _read_spec(directory: CampaignDirectory) -> CampaignSpec:
    path = directory.campaign
    if not os.path.isfile(path) and Manifest.read(directory).is_imported:
        raise ResultsError(
            f"{directory.path}: these results were imported, without campaign and recordings; only "
            "the commands report, compare and gate can read them"
        )
    data = _without_removed_keys(read_json_object(path, ResultsError))
    try:
        return CampaignSpec.kind_of(data).model_validate(data, context=STORED)
    except ValidationError as error:
        faults = (f"{'.'.join(map(str, fault['loc']))} {fault['msg']}" for fault in error.errors())
        raise ResultsError(f"{path}: {'; '.join(faults)}; {RESTORE}") from error


def _without_removed_keys(campaign: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a stored campaign without the keys that its kind, with or without a stack, no longer
    has. Version 1.0.0 wrote the same keys for both kinds."""
    has_stack = campaign.get("stack") is not None
    result = {key: value for key, value in campaign.items() if key != "stack" or has_stack}
    removed = ("plugin", "parameters") if has_stack else ("launch",)
    planners = campaign.get("planners")
    if isinstance(planners, list) and all(isinstance(planner, dict) for planner in planners):
        result["planners"] = [
            {key: value for key, value in planner.items() if key not in removed}
            for planner in planners
        ]
    return result


def _declared_metrics(spec: CampaignSpec) -> Tuple[Metric, ...]:
    source = world_source(spec)
    numbers = () if source is None else source.recorded_numbers()
    hook_numbers = [(hook.name, number) for hook in spec.hooks for number in numbers_of(hook)]
    metrics = (
        *installed_metrics(),
        *task_metrics(spec),
        *REPORTED.values(),
        *(
            metric_of_stack(metric.name, metric.unit, metric.better)
            for metric in spec.published_metrics
        ),
        *(metric_of_drawn_value(PREFIX + term.name) for term in spec.randomize),
        *(metric for robot in spec.robots for metric in metrics_of_companion(robot.name)),
        *(metric_of_recorded_value(name) for name in numbers),
        *(metric_of_active_time(column_of(effect)) for effect in spec.effects),
        *(metric_of_recorded_value(name, f"the hook {hook!r}") for hook, name in hook_numbers),
    )
    relevant = spec.metrics.smallest_relevant
    known_names = {SUCCESS, *(metric.name for metric in metrics)}
    for name in relevant:
        if name not in known_names:
            raise SpecError(
                f"campaign {spec.name}: metrics.smallest_relevant: "
                f"{unknown_name('metric', name, known_names)}"
            )
    return tuple(
        replace(metric, smallest_relevant=relevant.get(metric.name, metric.smallest_relevant))
        for metric in metrics
    )


def find_world(world: WorldRecord, directory: CampaignDirectory) -> WorldRecord:
    """Return the record of a stored world with the current path of its file.

    Raises ``ResultsError`` if the file is missing or has changed.
    """
    if os.path.basename(world.name) != world.name:
        raise ResultsError(f"{directory.results}: is damaged: {world.name!r} is not a file name")
    # Generated worlds are stored in the results directory, which the user can move.
    generated_file = directory.worlds / f"{world.name}.world"
    path = generated_file if os.path.isfile(generated_file) else world.path
    if file_sha256(path) != world.sha256:
        raise ResultsError(
            f"{path}: the world is missing or has changed since its trials were run; restore the "
            "original file"
        )
    return replace(world, path=path)


def _open_store(manifest: Manifest, directory: CampaignDirectory) -> Optional[ResultStore]:
    """Return the open store of this campaign. If the store is of another campaign without valid
    trials, delete its files and return None. Raises ``ResultsError`` if it has valid trials."""
    stored_manifest = Manifest.read(directory)

    def require_same(store: ResultStore) -> None:
        if store.holds_valid_trial():
            manifest.require_same(stored_manifest, directory)

    store = ResultStore.open(directory, require_same)
    if store is None:
        _require_no_trajectories(directory, "is missing or empty")
    with contextlib.ExitStack() as at_exit:
        if store is not None:
            at_exit.enter_context(store)
        has_valid_trial = store is not None and store.holds_valid_trial()
        if has_valid_trial or manifest.is_same(stored_manifest):
            # The store stays open for the caller.
            at_exit.pop_all()
            return store
        _require_no_trajectories(directory, "contains no valid trial")
    with reporting_disk(directory.path):
        for folder in (directory.worlds, directory.trajectories):
            if os.path.isdir(folder):
                shutil.rmtree(folder)
        journal = directory.results.with_name(directory.results.name + "-journal")
        for file in (directory.results, journal, directory.log):
            if os.path.exists(file):
                file.unlink()
    return None


def _require_no_trajectories(directory: CampaignDirectory, state: str) -> None:
    # Called if the directory has no usable store.
    file_count = sum(1 for _ in directory.trajectories.glob("*.npz"))
    if file_count:
        raise ResultsError(
            f"{directory.results}: the file {state}, but {directory.trajectories} has files of "
            f"{file_count} trials; restore {directory.results.name} from a backup, or use a new "
            f"directory for --out. To run all trials again, delete {directory.trajectories}"
        )


def require_same_worlds(stored: Tuple[WorldRecord, ...], worlds: Tuple[WorldRecord, ...]) -> None:
    """Raise ``ResultsError`` if the file, the drawn mission or the published numbers of a stored
    world have changed, or if ``worlds`` does not contain it."""
    hashes = {world.name: world.sha256 for world in worlds}
    published_numbers = {world.name: world.published for world in worlds}
    missions = {world.name: world.mission for world in worlds}
    for world in stored:
        if world.name in hashes and dict(published_numbers[world.name]) != dict(world.published):
            raise ResultsError(
                f"{world.path}: the values of worlds.published have changed from "
                f"{dict(world.published)} to {dict(published_numbers[world.name])} since trials "
                "were run in this world; restore their source files, or use a new directory for "
                "--out"
            )
        if world.name in hashes and missions[world.name] != world.mission:
            raise ResultsError(
                f"{world.path.parent / MISSIONS_FILE}: the mission of {world.name} has changed "
                "since trials were run in this world; restore the file, or use a new directory for "
                "--out"
            )
        if hashes.get(world.name) != world.sha256:
            change = "has changed" if world.name in hashes else "was removed"
            raise ResultsError(
                f"{world.path}: the world {change} since its trials were run; restore the "
                "original file, or use a new directory for --out"
            )
