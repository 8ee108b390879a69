"""Campaigns in the worlds of a Scenic program."""

import importlib.util
import json
import os
import shutil
from pathlib import Path

import pytest

from gz_testauto.base.errors import ResultsError, SpecError
from gz_testauto.campaign.progress import CampaignListener
from gz_testauto.campaign.resume import open_for_replay, read_campaign
from gz_testauto.campaign.runner import run_campaign
from gz_testauto.campaign.simulator import chosen_executor
from gz_testauto.campaign.world_source import gather_worlds
from gz_testauto.cli.trust import require_trust
from gz_testauto.report.page.page import write_final_page
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load, parse
from gz_testauto.trial.plan import PreparedCampaign
from gz_testauto.trial.testbed import bed_of, read_body
from gz_testauto.worlds.source import missions_of

SCENIC = Path(__file__).resolve().parents[3] / "config" / "scenic"
needs_scenic = pytest.mark.skipif(
    importlib.util.find_spec("scenic") is None,
    reason="needs Scenic 3: pip install 'gz_testauto[scenic]'",
)

SCENARIO = """
workspace = Workspace(RectangularRegion(0 @ 0, 0, 6, 8))
create_room(8, 6)
ego = new Turtlebot3 at Range(-1, 1) @ -2.5, facing 0 deg
new Waypoint at -2 @ 0
new Waypoint at Range(-1, 1) @ 0.5
new CafeTable at 1.8 @ 3, facing 0 deg
for i in range(globalParameters.crates):
    new Crate in RectangularRegion(0 @ 2.6, 0, 5, 1)
"""

CAMPAIGN = """\
name: small
seed: 5
worlds:
  count: 2
  scenic:
    file: small.scenic
    models: models.yaml
    parameters: {crates: 2}
    mission: {start: turtlebot3, goal: waypoint}
robot:
  model: package://gz_testauto/models/wheelchair/model.sdf
goal: {tolerance_m: 0.5}
planners: [straight, fgm]
simulator: embedded
limits: {timeout_s: 20.0}
"""


@pytest.fixture
def workshop(tmp_path):
    """A folder with a campaign, its scenario and its models."""
    shutil.copytree(SCENIC / "models", tmp_path / "models")
    shutil.copy(SCENIC / "models.yaml", tmp_path)
    (tmp_path / "small.scenic").write_text("param crates = 0\n" + SCENARIO)
    (tmp_path / "small.yaml").write_text(CAMPAIGN)
    return tmp_path


def campaign(folder, *changes):
    text = CAMPAIGN
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return parse(text, CampaignSpec, folder / "small.yaml")


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("    models: models.yaml\n", "", r":5: worlds\.scenic\.models is missing"),
        ("    models: ", "    model: ", r":7: worlds\.scenic: .*'model'.*'models'"),
        ("file: small", "file: large", r":6: worlds\.scenic\.file .*large\.scenic"),
        ("{crates: 2}", "{crates: [2]}", r":8: worlds\.scenic\.parameters\.crates"),
        ("start: turtlebot3, ", "", r":10: robot\.start is missing"),
        (", goal: waypoint", "", r":12: goal\.x_m is missing"),
        ("{tolerance_m", "{y_m: 1, tolerance_m", r":12: goal\.y_m .*worlds\.scenic"),
        (
            "{tolerance_m",
            "{via: [{x_m: 1, y_m: 1}], tolerance_m",
            r":12: goal\.via .*worlds\.scenic",
        ),
        (
            "robot:\n",
            "robot:\n  start: {x_m: 1, y_m: 1}\n",
            r":10: robot\.start .*worlds\.scenic",
        ),
    ],
)
def test_an_invalid_scenic_section_is_rejected_with_file_line_and_field(
    old, new, complaint, workshop
):
    with pytest.raises(SpecError, match=r"small\.yaml" + complaint):
        campaign(workshop, (old, new))


@pytest.mark.parametrize(
    ("mission", "place"),
    [
        ("{start: turtlebot3, goal: waypont}", r"9: worlds\.scenic\.mission\.goal"),
        (
            "\n      start: turtlebot3\n      goal: waypont",
            r"11: worlds\.scenic\.mission\.goal",
        ),
        (
            "\n      start: turtlebot3\n      goal:\n      - waypont",
            r"12: worlds\.scenic\.mission\.goal\[0\]",
        ),
    ],
)
def test_an_unknown_mission_item_is_rejected_with_its_line_and_a_suggestion(
    mission, place, workshop
):
    said = rf"small\.yaml:{place}: unknown mission item .*'waypont'; did you mean 'waypoint'"
    with pytest.raises(SpecError, match=said):
        campaign(workshop, ("{start: turtlebot3, goal: waypoint}", mission))


def test_a_stored_scenic_campaign_equals_the_original(workshop):
    spec = campaign(workshop)
    again = CampaignSpec.kind_of({}).model_validate(json.loads(spec.model_dump_json()))
    assert again == spec


def test_the_example_campaign_with_scenic_worlds_is_valid():
    spec = load(SCENIC / "campaign.yaml", CampaignSpec)
    assert spec.worlds.source.mission.goal == "waypoint"


def test_each_world_has_the_start_and_goals_of_its_mission(workshop):
    spec = campaign(workshop)
    for index in range(2):
        (workshop / f"world_000{index}.yaml").write_text(
            f"turtlebot3: [{{x: {index}, y: 1, z: 0, heading: 0.5}}]\n"
            f"waypoint: [{{x: 8, y: 8, z: 0, heading: 0}}, {{x: 3, y: 4, z: 0, heading: 1}}]\n"
        )
    missions = missions_of(spec, workshop)
    mission = missions.of("world_0001")
    start, goals = mission.start, mission.goals
    assert (start.x_m, start.y_m, start.yaw_rad) == (1, 1, 0.5)
    assert [goal[:2] for goal in goals] == [(8, 8), (3, 4)]  # in the scenario's order


def test_goals_are_visited_in_the_order_of_their_names_in_the_campaign(workshop):
    spec = campaign(workshop, ("goal: waypoint", "goal: [waypoint, turtlebot3]"))
    for index in range(2):
        (workshop / f"world_000{index}.yaml").write_text(
            "turtlebot3: [{x: 1, y: 1, z: 0, heading: 0.5}]\n"
            "waypoint: [{x: 8, y: 8, z: 0, heading: 0}, {x: 3, y: 4, z: 0, heading: 1}]\n"
        )
    goals = missions_of(spec, workshop).of("world_0000").goals
    assert [goal[:2] for goal in goals] == [(8, 8), (3, 4), (1, 1)]  # and back


@pytest.mark.parametrize(
    ("text", "error", "complaint"),
    [
        ("turtlebot3: [{x: 1}]\n", ResultsError, r"world_0000\.yaml: the file is damaged"),
        ("- 1\n", ResultsError, r"world_0000\.yaml: the file is damaged"),
        (
            "waypoint: [{x: 8, y: 8, z: 0, heading: 0}]\n",
            SpecError,
            r"small\.scenic: .* no 'turtlebot3' in world_0000, .* are waypoint",
        ),
    ],
)
def test_a_damaged_or_incomplete_mission_file_is_rejected(text, error, complaint, workshop):
    (workshop / "world_0000.yaml").write_text(text)
    with pytest.raises(error, match=complaint):
        missions_of(campaign(workshop), workshop)


class Interrupted(Exception):
    """Simulates a kill of the process."""


class Interrupting(CampaignListener):
    """Stops the run after ``after`` trials, and stores the labels of started trials."""

    def __init__(self, after):
        self.after, self.began_trials = after, []

    def trial_began(self, trial, progress):
        if len(self.began_trials) == self.after:
            raise Interrupted
        self.began_trials.append(trial.label)


@pytest.mark.slow
@needs_scenic
def test_a_misspelled_scenario_parameter_is_rejected_with_a_suggestion(workshop):
    spec = campaign(workshop, ("parameters: {crates: 2}", "parameters: {cratez: 2}"))
    complaint = (
        r"worlds\.scenic\.parameters: .*small\.scenic: unknown parameter 'cratez'; .*'crates'\?"
    )
    with pytest.raises(SpecError, match=complaint):
        gather_worlds(spec, read_body(spec), workshop / "out")
    assert not (workshop / "out").exists()


@needs_scenic
@pytest.mark.slow
def test_an_interrupted_campaign_in_scenic_worlds_is_continued(workshop, monkeypatch):
    spec, out = campaign(workshop), workshop / "out"
    first = Interrupting(after=1)
    with pytest.raises(Interrupted):
        run_campaign(spec, out, chosen_executor(spec, out), listener=first)
    before = {path.name: path.read_bytes() for path in (out / "worlds").glob("*.world")}
    assert len(before) == 2

    # Existing worlds are not generated again: the second run needs no Scenic.
    monkeypatch.setattr("gz_testauto.extras.scenic.source.ScenicSource", None)
    second = Interrupting(after=99)
    results = run_campaign(spec, out, chosen_executor(spec, out), listener=second)
    assert first.began_trials + second.began_trials == [
        f"world_000{world}--{planner}--0" for world in range(2) for planner in ("straight", "fgm")
    ]
    assert all(trial.outcome.valid for trial in results.trials)
    assert [trial.outcome.value for trial in results.of("straight")] == ["reached"] * 2
    assert before == {path.name: path.read_bytes() for path in (out / "worlds").glob("*.world")}

    # The stored campaign and the page have each world's start and goals.
    _, looked_back = read_campaign(CampaignDirectory(out))
    assert looked_back.of("world_0000") != looked_back.of("world_0001")
    assert list(write_final_page(out))
    with ResultStore.open(CampaignDirectory(out)) as store:
        replayed = open_for_replay(CampaignDirectory(out), store, require_trust)
    assert replayed.trials[0].world.name == "world_0000"


@needs_scenic
@pytest.mark.slow
def test_the_static_map_of_a_scenic_world_omits_drawn_objects(workshop, monkeypatch):
    from gz_testauto.extras.scenic.source import ScenicSource

    monkeypatch.delenv("GAZEBO_MODEL_PATH", raising=False)
    spec, folder = campaign(workshop), workshop / "out" / "worlds"
    robot = read_body(spec)
    records = gather_worlds(spec, robot, folder)
    source = ScenicSource(workshop / "small.scenic", workshop / "models.yaml", 5, {"crates": 2})
    assert records[1].path.read_bytes() == source.generate(1).content  # of the seed and 1 alone

    os.rename(workshop / "models", workshop / "gone")  # the worlds have their own models
    ready = PreparedCampaign(bed_of(spec, robot), records, missions_of(spec, folder))
    trial = ready.trials[-1]
    mission = source.generate(1).mission
    assert ready.bed.scene(trial).start.x_m == mission["turtlebot3"][0]["x"]
    assert [ready.bed.task(trial, visited).goal.x_m for visited in range(2)] == [
        waypoint["x"] for waypoint in mission["waypoint"]
    ]
    places = [ready.trials[0].mission.start, *ready.trials[0].mission.goals]
    straight_m = sum(one.distance_to(*other[:2]) for one, other in zip(places, places[1:]))
    assert records[0].shortest_path_m == pytest.approx(straight_m, abs=0.2)
    crates = [one.pose[:2] for one in records[1].obstacles]
    assert len(crates) == 2
    static_map = ready.bed.static_map
    grid = static_map.grid(static_map.inputs(records[1], trial.mission))
    assert all(grid.is_free(x, y) for x, y in crates)
    assert not grid.is_free(0.0, 3.9)  # the wall


@needs_scenic
@pytest.mark.slow
def test_a_statement_without_effect_is_logged_when_worlds_are_generated(workshop, caplog):
    text = "param crates = 0\n" + SCENARIO + "terminate after 5 seconds\n"
    (workshop / "small.scenic").write_text(text)
    spec = campaign(workshop)
    gather_worlds(spec, read_body(spec), workshop / "out" / "worlds")
    line = text.count("\n")
    assert f"small.scenic:{line}: `terminate after` has no effect on a scene" in caplog.text


def test_a_changed_imported_file_changes_the_recorded_inputs(workshop):
    from gz_testauto.results.inputs import further_files

    (workshop / "small.scenic").write_text(
        "import furniture\nfrom parts.tall import *\nmodel room\nplan = localPath('plan.csv')\n"
    )
    (workshop / "furniture.scenic").write_text("from depths import depth\n")
    (workshop / "depths.py").write_text("depth = 1\n")
    (workshop / "parts").mkdir()
    (workshop / "parts" / "tall.py").write_text("")
    (workshop / "room.sc").write_text("")
    (workshop / "plan.csv").write_text("")
    (workshop / "beside.py").write_text("")  # not named by any file
    spec = campaign(workshop)
    robot = read_body(spec)
    before = further_files(spec, robot)
    named = ("furniture.scenic", "depths.py", "parts/tall.py", "room.sc", "plan.csv")
    assert {name for name in before if name.startswith("worlds.scenic.file/")} == {
        f"worlds.scenic.file/{name}" for name in named
    }
    for name in named:
        (workshop / name).write_text("# changed\nfrom depths import depth\n")
        after = further_files(spec, robot)
        assert before[f"worlds.scenic.file/{name}"] != after[f"worlds.scenic.file/{name}"]


def test_a_changed_model_file_changes_the_recorded_inputs(workshop):
    from gz_testauto.results.inputs import further_files

    spec = campaign(workshop)
    robot = read_body(spec)
    before = further_files(spec, robot)
    sdf = workshop / "models" / "crate" / "model.sdf"
    sdf.write_text(sdf.read_text().replace("<mass>", "<mass>1"))
    after = further_files(spec, robot)
    assert {name for name in before if before[name] != after[name]} == {
        "worlds.scenic.models/models/crate/model.sdf"
    }
