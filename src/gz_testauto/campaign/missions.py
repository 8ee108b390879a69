"""Draw the missions of a campaign, and store them in the directory of its worlds."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import shapely

from gz_testauto.base.disk import make_directory
from gz_testauto.base.errors import PlacementError, ResultsError
from gz_testauto.results.directory import reporting_disk, write_atomically
from gz_testauto.sampling.missions import MissionRobot, MissionSampler
from gz_testauto.sampling.seeds import MISSION, child_generator
from gz_testauto.sdf.scene import read_scene
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.missions import MissionsSpec
from gz_testauto.worlds.mission_file import (
    MISSIONS_FILE,
    StoredMission,
    missions_bytes,
    read_missions,
)
from gz_testauto.worlds.record import Progress, WorldRecord

SAVE_PERIOD_S = 3.0  # wall time after which the missions that were drawn so far are written


def draw_missions(
    spec: CampaignSpec,
    robot: MissionRobot,
    occupied: Sequence[shapely.Geometry],
    entries: Sequence[WorldRecord],
    folder: Path,
    count: Optional[int] = None,
    progress: Optional[Progress] = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Tuple[WorldRecord, ...]:
    """Return a record for each mission in each of the worlds ``entries``, at most ``count``.

    Missions that ``folder`` does not contain are drawn and stored there, until ``should_stop``
    returns True. No start or goal is in ``occupied`` (m, world frame). Raises ``PlacementError`` if
    no mission is possible, and ``ResultsError`` if those in ``folder`` have other inputs.
    """
    missions_spec = spec.worlds.missions
    assert missions_spec is not None
    inputs = _inputs(spec, missions_spec, robot, occupied)
    stored_inputs, missions = read_missions(folder)
    records = named_worlds(entries, missions_spec.count)[:count]
    _require_equal_inputs(folder, missions, records, dict(stored_inputs), inputs)
    stored_count, saved_s, sampler = len(missions), time.monotonic(), None
    for index in range(stored_count, len(records)):
        if should_stop():
            break
        record, (entry_index, number) = records[index], divmod(index, missions_spec.count)
        try:
            if sampler is None or number == 0:
                scene = read_scene(record.path)
                sampler = MissionSampler(scene, missions_spec, robot, occupied)
            mission = sampler.draw(child_generator(spec.seed, MISSION, entry_index, number))
        except PlacementError as error:
            raise PlacementError(f"{record.name}: {error}") from error
        missions.append(StoredMission(**vars(mission), world=record.name, sha256=record.sha256))
        if time.monotonic() - saved_s > SAVE_PERIOD_S:
            _save(folder, inputs, missions)
            saved_s = time.monotonic()
        if progress is not None:
            progress(len(missions), len(records))
    if len(missions) > stored_count:
        _save(folder, inputs, missions)
    return tuple(
        replace(
            record,
            mission=(mission.start, *mission.goals),
            shortest_path_m=mission.shortest_path_m,
        )
        for record, mission in zip(records, missions)
    )


def named_worlds(entries: Sequence[WorldRecord], missions_per_world: int) -> List[WorldRecord]:
    """Return the worlds with one record per mission. With several missions per world, each name
    ends with the number of the mission."""
    if missions_per_world == 1:
        return list(entries)
    digits = len(str(missions_per_world - 1))
    return [
        replace(entry, name=f"{entry.name}_m{number:0{digits}d}")
        for entry in entries
        for number in range(missions_per_world)
    ]


def _inputs(
    spec: CampaignSpec,
    missions_spec: MissionsSpec,
    robot: MissionRobot,
    occupied: Sequence[shapely.Geometry],
) -> Dict[str, Any]:
    return {
        "seed": spec.seed,
        "missions": missions_spec.model_dump(mode="json", exclude={"count"}),
        "missions_per_world": missions_spec.count,
        "radius_m": robot.radius_m,
        "heights_m": list(robot.heights),
        "tolerance_m": robot.tolerance_m,
        "occupied": [area.wkt for area in occupied],
    }


def _require_equal_inputs(
    folder: Path,
    missions: Sequence[StoredMission],
    records: Sequence[WorldRecord],
    stored_inputs: Dict[str, Any],
    inputs: Dict[str, Any],
) -> None:
    stored_hashes = [(mission.world, mission.sha256) for mission in missions]
    hashes = [(record.name, record.sha256) for record in records]
    count = min(len(stored_hashes), len(hashes))
    if missions and (stored_inputs != inputs or stored_hashes[:count] != hashes[:count]):
        raise ResultsError(
            f"{folder / MISSIONS_FILE}: the missions were drawn from other inputs; use a new "
            "directory for --out"
        )


def _save(folder: Path, inputs: Dict[str, Any], missions: Sequence[StoredMission]) -> None:
    with reporting_disk(folder):
        make_directory(folder)
    write_atomically(folder / MISSIONS_FILE, missions_bytes(inputs, missions))
