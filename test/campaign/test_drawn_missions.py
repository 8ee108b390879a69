"""Missions that a campaign draws: the same for all planners and in each run, and stored."""

import csv
import io
import json
from pathlib import Path

import pytest
from pydantic import ValidationError
from scripted import ScriptedExecutor

from gz_testauto.analysis.overview import analyze
from gz_testauto.base.errors import ResultsError
from gz_testauto.base.resources import share_directory
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.world_source import gather_worlds
from gz_testauto.report.export import to_csv, to_json
from gz_testauto.report.page.difficulty import SHORTEST_PATH, figures_of_worlds
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore
from gz_testauto.results.world_identity import copies_of_worlds
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.trial.plan import TrialSelection
from gz_testauto.trial.testbed import read_body
from gz_testauto.worlds.mission_file import MISSIONS_FILE, read_missions
from gz_testauto.worlds.record import WorldRecord

REGION = {"rectangle": {"x_m": [-9, 9], "y_m": [-9, 9]}}
OBSTACLES = {"obstacles": [{"type": "box", "count": 4}], "region": REGION}
ARENA = share_directory() / "worlds" / "arena.world"
BASE = {"base": ARENA, "obstacles": OBSTACLES, "count": 3}


def campaign(worlds=BASE, seed=5, missions=(), **keys):
    values = {
        "name": "missions",
        "seed": seed,
        "worlds": {**worlds, "missions": {"path_m": [5, 30], **dict(missions)}},
        "robot": {"model": share_directory() / "models" / "wheelchair" / "model.sdf"},
        "goal": {"tolerance_m": 0.5},
        "planners": ["fgm", "dwa"],
        "simulator": "embedded",
        **keys,
    }
    return CampaignSpec.kind_of(values).model_validate(values)


def gathered(folder, spec, **options):
    return gather_worlds(spec, read_body(spec), folder, **options)


def test_mission_of_a_world_depends_only_on_the_seed_and_its_index(tmp_path):
    worlds = gathered(tmp_path / "a", campaign())
    missions = [world.mission for world in worlds]
    assert len(set(missions)) == 3
    assert all(5 <= world.shortest_path_m <= 30 for world in worlds)
    assert [w.mission for w in gathered(tmp_path / "b", campaign(), count=2)] == missions[:2]
    assert [w.mission for w in gathered(tmp_path / "b", campaign())] == missions
    assert gathered(tmp_path / "c", campaign(seed=6))[0].mission != missions[0]


def test_several_missions_of_a_world_share_its_file(tmp_path):
    single = gathered(tmp_path / "single", campaign({**BASE, "count": 2}))
    spec = campaign({**BASE, "count": 2}, missions={"count": 11})
    worlds = gathered(tmp_path / "several", spec)
    assert [worlds[index].name for index in (0, 10, 11)] == [
        "world_0000_m00",
        "world_0000_m10",
        "world_0001_m00",
    ]
    assert [world.sha256 for world in worlds] == [w.sha256 for w in single for _ in range(11)]
    assert worlds[11].mission == single[1].mission
    assert len({world.mission for world in worlds}) == 22
    assert [w.name for w in gathered(tmp_path / "few", spec, count=12)][-1] == "world_0001_m00"


def test_missions_are_drawn_in_the_worlds_of_a_directory(tmp_path):
    (tmp_path / "given").mkdir()
    for name in ("a", "b"):
        (tmp_path / "given" / f"{name}.world").write_bytes(ARENA.read_bytes())
    worlds = {"directory": tmp_path / "given", "files": ["b.world", "a.world"]}
    records = gathered(tmp_path / "out", campaign(worlds, missions={"count": 2}))
    assert [record.name for record in records] == ["b_m0", "b_m1", "a_m0", "a_m1"]
    assert sorted(path.name for path in (tmp_path / "given").iterdir()) == ["a.world", "b.world"]
    assert len({record.mission for record in records}) == 4


@pytest.fixture
def results(tmp_path):
    """A campaign of three worlds with two planners, and the missions of its trials."""
    missions = {}

    def script(trial):
        missions.setdefault(trial.world.name, set()).add(trial.mission)
        return ScriptedExecutor().script(trial)

    run_campaign(campaign(), tmp_path / "out", lambda _: ScriptedExecutor(script))
    with ResultStore.read(CampaignDirectory(tmp_path / "out")) as store:
        return store.results(), missions


def test_all_planners_have_the_mission_that_results_and_exports_contain(results, tmp_path):
    stored, missions = results
    assert [len(missions[world.name]) for world in stored.worlds] == [1, 1, 1]
    rows = list(csv.DictReader(io.StringIO(to_csv(stored))))
    exported = json.loads(to_json(analyze(stored)))["worlds"]
    for index, world in enumerate(stored.worlds):
        (mission,) = missions[world.name]
        poses = [tuple(mission.start), *map(tuple, mission.goals)]
        assert list(world.mission) == poses
        assert exported[index]["mission"] == [list(pose) for pose in poses]
        row = next(row for row in rows if row["world"] == world.name)
        names = ("start_x_m", "start_y_m", "start_yaw_rad", "goal_x_m", "goal_y_m", "goal_yaw_rad")
        assert [float(row[f"world_{name}"]) for name in names] == [*poses[0], *poses[-1]]


def test_report_has_the_difficulty_of_each_mission(results, tmp_path):
    stored, _ = results
    problems = []
    figures = figures_of_worlds(CampaignDirectory(tmp_path / "out"), None, stored.worlds, problems)
    values = {figure.key: numbers for figure, numbers in figures.items()}
    assert problems == [] and "density" not in values
    assert values[SHORTEST_PATH.key] == [world.shortest_path_m for world in stored.worlds]
    assert all(value >= 1.0 for value in values["tortuosity"])


def test_equal_files_without_drawn_missions_remain_copies():
    worlds = [WorldRecord(index, f"w{index}", Path("w.world"), "0") for index in range(2)]
    assert copies_of_worlds(worlds, {"worlds.missions": "null"}) == {"w1": "w0"}
    assert copies_of_worlds(worlds, {"worlds.missions.count": "2"}) == {}


def test_two_missions_in_one_world_are_not_copies(tmp_path):
    spec = campaign({**BASE, "count": 1}, missions={"count": 2})
    run_campaign(spec, tmp_path / "out", lambda _: ScriptedExecutor())
    with ResultStore.read(CampaignDirectory(tmp_path / "out")) as store:
        assert store.results().copies == {}


def test_campaign_is_continued_with_the_same_missions(tmp_path):
    for worlds in (1, 3):
        executor = ScriptedExecutor()
        selection = TrialSelection(worlds=worlds)
        run_campaign(campaign(), tmp_path / "out", lambda _: executor, selection=selection)  # noqa: B023
    assert [label.split("--")[0] for label in executor.executed] == [
        *["world_0001"] * 2,
        *["world_0002"] * 2,
    ]


def test_campaign_with_a_changed_mission_is_not_continued(tmp_path):
    first = TrialSelection(worlds=1)
    run_campaign(campaign(), tmp_path / "out", lambda _: ScriptedExecutor(), selection=first)
    path = tmp_path / "out" / "worlds" / MISSIONS_FILE
    data = json.loads(path.read_text())
    data["missions"][0]["start"][0] += 0.1
    path.write_text(json.dumps(data))
    with pytest.raises(ResultsError, match="the mission of world_0000 has changed"):
        run_campaign(campaign(), tmp_path / "out", lambda _: ScriptedExecutor())


def test_missions_of_other_inputs_are_refused(tmp_path):
    gathered(tmp_path, campaign())
    with pytest.raises(ResultsError, match="missions were drawn from other inputs"):
        gathered(tmp_path, campaign(missions={"clearance_m": 1.5}))


def test_a_damaged_file_names_the_field_and_is_drawn_again_after_its_removal(tmp_path):
    missions = [world.mission for world in gathered(tmp_path, campaign())]
    path = tmp_path / MISSIONS_FILE
    path.write_text(path.read_text().replace('"start": [', '"start": [0, ', 1))
    with pytest.raises(ResultsError, match=r"missions.0.start.*remove it"):
        read_missions(tmp_path)
    path.unlink()
    assert [world.mission for world in gathered(tmp_path, campaign())] == missions


NEAR = {**OBSTACLES, "keep_out": [{"center": "start", "radius_m": 1.0}]}
BAND = {**OBSTACLES, "region": {"along_path": {"width_m": 2.0}}}
POSE = {"x_m": 0.0, "y_m": 0.0}


@pytest.mark.parametrize(
    ("worlds", "keys", "match"),
    [
        ({**BASE, "obstacles": NEAR}, {}, "draws start and goal after the obstacles"),
        ({**BASE, "obstacles": {**OBSTACLES, "solvable": True}}, {}, "remove 'solvable'"),
        ({**BASE, "obstacles": BAND}, {}, "'along_path'"),
        ({"directory": ".", "files": [{"file": "a.world", "goal": POSE}]}, {}, "'goal' of 'a'"),
        (
            {"directory": ".", "files": [{"file": "a.world", "random_numbers": {"seed": 1}}]},
            {},
            "'random_numbers' of 'a' in 'files' is not allowed",
        ),
        (BASE, {"goal": POSE}, "x_m is set by worlds.missions; remove it"),
        (BASE, {"missions": {"path_m": [9, 5]}}, r"path_m \[9.0, 5.0\] is empty"),
        (BASE, {"missions": {"start": "anywhere"}}, "start"),
        (BASE, {"stop": {"when": "decided", "max_worlds": 4}}, "at most the number of worlds, 3"),
    ],
)
def test_contradictory_keys_are_refused(worlds, keys, match):
    with pytest.raises(ValidationError, match=match):
        campaign(worlds, **keys)
