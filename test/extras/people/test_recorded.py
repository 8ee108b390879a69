"""People on recorded tracks keep their positions and their times."""

import math
import random

import numpy as np
import pytest
from people_scenes import Actors

from gz_testauto.actors.creation import ActorPlacementArea, ObstacleOutlines, create_actors
from gz_testauto.actors.simulation import ActorSimulation
from gz_testauto.base.errors import SpecError
from gz_testauto.base.pose import Pose2D
from gz_testauto.base.resources import share_directory
from gz_testauto.results.comparability import differing_names
from gz_testauto.results.manifest import campaign_inputs
from gz_testauto.sdf.robot import read_robot
from gz_testauto.simulators import open_simulator
from gz_testauto.simulators.embedded import EmbeddedSimulator
from gz_testauto.simulators.interface import Scene
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load, parse
from gz_testauto.trial.actors import check_actors

PERIOD_S = 0.1
RATE_HZ = 25.0
FAR = Pose2D(50.0, 50.0)
WORLD = share_directory() / "worlds" / "plain.world"

TWO = "time,id,x,y\n1,a,0,0\n3,a,2,0\n3.05,b,0,1\n4,b,0,2\n"


def entries(tmp_path, text, keys="", name="tracks.csv"):
    (tmp_path / name).write_text(text)
    line = f"actors: [{{name: p, behavior: recorded, tracks: {name}{keys}}}]"
    return parse(line, Actors, tmp_path / "campaign.yaml").actors


def created(specs, seed=1, world=0):
    return create_actors(specs, seed, world, 0, ActorPlacementArea(ObstacleOutlines({}), FAR, 0.6))


def run(simulator, actors, duration_s, start=FAR):
    robot = read_robot(share_directory() / "models" / "wheelchair", "robot")
    models = tuple(model for actor in actors for model in actor.models)
    simulation = ActorSimulation(simulator.load(Scene(WORLD, robot, start, models=models)), actors)
    return [simulation.step(PERIOD_S) for _ in range(round(duration_s / PERIOD_S))]


def poses(snapshots, actors):
    """Return the poses of all actors, by the times in which they are present."""
    return {
        round(snapshot.time_s, 6): {
            actor.name: tuple(snapshot.models[actor.name].pose.planar)
            for actor in actors
            if actor.name in snapshot.models
        }
        for snapshot in snapshots
    }


def crowd(count, duration_s):
    """Return rows (frame, id, x, y) of people who cross a hall, some of them through each other."""
    draw, rows = random.Random(3), []
    for person in range(1, count + 1):
        length = draw.randint(6, 12)
        first = draw.randint(0, round(duration_s / 0.4) - length)
        side, speed, y_m = draw.choice([-1, 1]), draw.uniform(0.9, 1.4), draw.uniform(-6, 6)
        for sample in range(length):
            x_m = side * (-3 + speed * 0.4 * sample)
            rows.append((10 * (first + sample), person, x_m, y_m + 0.3 * math.sin(sample / 4)))
    return sorted(rows)


SIMULATORS = ["embedded", pytest.param("gazebo", marks=[pytest.mark.gazebo, pytest.mark.slow])]


@pytest.mark.slow
@pytest.mark.parametrize("simulator_name", SIMULATORS)
def test_sixty_people_are_at_their_recorded_positions_at_their_times(tmp_path, simulator_name):
    """The people of a file in the format of ETH pass the robot, also through each other.

    The positions equal those of the file within 1 cm at all its frames. Outside of the times in
    the file, no person is detected, or touches the robot.
    """
    duration_s, rows = 12.0, crowd(60, 12.0)
    text = "".join(f" {f:.7e} {p:.7e} {x:.7e} 0 {y:.7e} 0 0 0\n" for f, p, x, y in rows)
    specs = entries(tmp_path, text, f", frame_rate_hz: {RATE_HZ}", "obsmat.txt")
    assert len(specs[0].names) == 60
    runs = []
    for _ in range(2):
        actors = created(specs)
        with open_simulator(simulator_name) as simulator:
            snapshots = run(simulator, actors, duration_s, Pose2D(0.0, 0.0))
        runs.append(
            (poses(snapshots, actors), [(s.scan.ranges_m.tobytes(), s.contacts) for s in snapshots])
        )
    assert runs[0] == runs[1]
    first_frame = rows[0][0]
    tracks = {actor.name: actor._track for actor in actors}
    number_of = {float(track.id): name for name, track in tracks.items()}
    compared = 0
    for frame, person, x_m, y_m in rows:
        time_s, name = round((frame - first_frame) / RATE_HZ, 6), number_of[person]
        if time_s > 0.0 and tracks[name].time_s[0] < time_s - 1e-6:
            assert runs[0][0][time_s][name][:2] == pytest.approx((x_m, y_m), abs=0.01)
            compared += 1
    assert compared > 400
    for snapshot in snapshots:
        for name, track in tracks.items():
            is_due = track.time_s[0] + 1e-6 < snapshot.time_s < track.time_s[-1] + 1e-6
            assert (name in snapshot.models) == (is_due or snapshot.time_s <= 0.0)
        present = {name for name in tracks if name in snapshot.models}
        touched = {
            name.partition("::")[0]
            for contact in snapshot.contacts
            for name in (contact.first, contact.second)
        }
        assert touched & set(tracks) <= present
    assert any("p_" in contact.first + contact.second for s in snapshots for contact in s.contacts)


@pytest.mark.parametrize("simulator_name", SIMULATORS)
def test_contacts_exert_no_force_and_absent_people_are_not_detected(tmp_path, simulator_name):
    """One person walks through the robot, and another one meets the first one head-on."""
    text = "time,id,x,y\n0.5,a,-2,0.1\n4.5,a,2,0.1\n0.5,b,2,0.1\n4.5,b,-2,0.1\n"
    actors = created(entries(tmp_path, text))
    with open_simulator(simulator_name) as simulator:
        snapshots = run(simulator, actors, 5.0, Pose2D(0.0, 0.0))
    for snapshot in snapshots:
        time_s = snapshot.time_s
        is_present = 0.55 < time_s < 4.55
        assert ("p_0" in snapshot.models) == ("p_1" in snapshot.models) == is_present
        is_seen = bool(np.nanmin(snapshot.scan.ranges_m) < 4.0)
        assert is_seen == is_present or 1.0 < time_s < 3.5  # the lidar is inside of a person
        if is_present:
            x_m = -2.0 + time_s - 0.5
            for name, expected_m in (("p_0", x_m), ("p_1", -x_m)):
                place = snapshot.models[name].pose.position
                assert place == pytest.approx((expected_m, 0.1, 0.02), abs=1e-6)
        robot = snapshot.models["robot"].pose.position
        assert np.hypot(*robot[:2]) < 0.01
    touching = [
        snapshot.time_s
        for snapshot in snapshots
        if any("p_0::" in contact.first + contact.second for contact in snapshot.contacts)
    ]
    assert 1.0 < touching[0] < 2.5 < touching[-1] < 4.0


def test_two_people_through_one_door_appear_after_each_other(tmp_path):
    text = "time,id,x,y\n0,a,0,0\n1,a,1,0\n2,b,0,0\n3,b,1,0\n"
    actors = created(entries(tmp_path, text))
    with open_simulator("embedded") as simulator:
        found = poses(run(simulator, actors, 3.5), actors)
    assert found[1.0] == {"p_0": pytest.approx((1.0, 0.0, 0.0))}
    assert found[1.5] == {}
    assert found[2.5] == {"p_1": pytest.approx((0.5, 0.0, 0.0))}


def test_heading_is_that_of_the_motion_or_of_the_column(tmp_path):
    rows = ["0,a,0,0", "1,a,0,1", "2,a,0,1"]
    (walker,) = created(entries(tmp_path, "\n".join(["time,id,x,y", *rows])))
    assert walker.expected(np.array([0.5, 1.5]))[:, 2] == pytest.approx(np.pi / 2)
    rows = [f"{row},{heading}" for row, heading in zip(rows, (3.0, -3.0, -3.0))]
    (walker,) = created(entries(tmp_path, "\n".join(["time,id,x,y,heading", *rows])))
    assert walker.expected(np.array([0.5]))[0, 2] == pytest.approx(np.pi)


def test_start_s_and_leave_s_select_the_time_of_the_recording(tmp_path):
    (spec,) = entries(tmp_path, TWO, ", start_s: 2, leave_s: 1.5")
    actors = created([spec])
    assert [actor.activity for actor in actors] == ["recorded, track a", "recorded, track b"]
    assert actors[0].models[0].pose.position[:2] == pytest.approx((1.0, 0.0))
    assert (actors[0].leave_s, actors[1].leave_s) == (1.0, 1.5)
    assert len(entries(tmp_path, TWO, ", start_s: 2, leave_s: 1")[0].names) == 1
    assert entries(tmp_path, TWO, ", start_s: 3.02")[0].names == ("p",)


def test_speed_offset_mirror_and_subset_are_drawn_by_the_seed(tmp_path):
    keys = ", speed: [0.5, 2], offset_m: [[-3, 3], 5], mirror: random, subset: 1"
    specs = entries(tmp_path, TWO, keys)
    tracks = [created(specs, world=world)[0]._track for world in range(40)]
    again = [created(specs, world=world)[0]._track for world in range(40)]
    assert [track.time_s.tolist() for track in tracks] == [t.time_s.tolist() for t in again]
    assert {track.id for track in tracks} == {"a", "b"}
    of_a = [track for track in tracks if track.id == "a"]
    speeds = [2.0 / np.ptp(track.time_s) for track in of_a]
    assert min(speeds) < 0.8
    assert max(speeds) > 1.6
    assert all(track.time_s[0] == pytest.approx(1.0 / v) for track, v in zip(of_a, speeds))
    assert all(np.ptp(track.points_m[:, 0]) == pytest.approx(2.0) for track in of_a)
    # The middle of all tracks is at y = 1 m, and the track a at y = 0.
    assert {round(float(track.points_m[0, 1]), 6) for track in of_a} == {5.0, 7.0}
    shifts = [track.points_m[0, 0] for track in of_a]
    assert -3.0 <= min(shifts) < -1.0
    assert 1.0 < max(shifts) <= 3.0


def test_all_people_of_an_entry_have_one_speed_and_offset(tmp_path):
    first, second = created(entries(tmp_path, TWO, ", speed: [0.5, 2], offset_m: [[-3, 3], 0]"))
    assert first.tracks is second.tracks
    assert first._track.time_s[-1] / second._track.time_s[0] == pytest.approx(3 / 3.05)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (", subset: 3", r"tracks: .*tracks\.csv: the file has only 2 tracks .* reduce 'subset'"),
        (", count: 3", r"p has count 3, but 2 tracks; remove 'count', or set 'subset'"),
        (
            ", start_s: 4",
            r"tracks: .*tracks\.csv: no track is in the time of the trial; set 'start",
        ),
        (", max_speed_mps: 0.5", r"tracks: .*tracks\.csv:3: the track 'a' moves 2\.00 m in 2 s"),
    ],
)
def test_invalid_entries_are_rejected_with_the_line_of_the_campaign(tmp_path, keys, message):
    with pytest.raises(SpecError, match=rf"campaign\.yaml:1: actors\[0\].*{message}"):
        entries(tmp_path, TWO, keys)


def test_more_tracks_than_actors_need_a_subset(tmp_path):
    rows = "".join(f"{time},{person},{time},{person}\n" for person in range(201) for time in (0, 1))
    with pytest.raises(SpecError, match=r"201 tracks .*, more than 200; set 'leave_s' or 'subset'"):
        entries(tmp_path, f"time,id,x,y\n{rows}")
    assert len(entries(tmp_path, f"time,id,x,y\n{rows}", ", subset: 20")[0].names) == 20


def test_a_missing_file_is_rejected(tmp_path):
    text = "actors: [{name: p, behavior: recorded, tracks: none.csv}]"
    with pytest.raises(
        SpecError, match=r'campaign\.yaml:1: actors\[0\]\.tracks is "none\.csv"; file'
    ):
        parse(text, Actors, tmp_path / "campaign.yaml")


def test_a_simulator_with_forces_in_all_contacts_is_rejected(monkeypatch):
    spec = load(share_directory() / "config" / "people" / "recorded_campaign.yaml", CampaignSpec)
    check_actors(spec)
    monkeypatch.setattr(EmbeddedSimulator, "contacts_without_forces", False)
    with pytest.raises(SpecError, match=r"actor 'walker': the simulator 'embedded' exerts forces"):
        check_actors(spec)


def test_the_manifest_has_the_content_of_the_file(tmp_path):
    (tmp_path / "tracks.csv").write_text(TWO)
    hashes = [campaign_inputs(entries(tmp_path, text)[0]) for text in (TWO, TWO, TWO + "9,b,0,2\n")]
    assert hashes[0] == hashes[1]
    assert hashes[0]["tracks"].startswith("sha256:")
    assert differing_names(hashes[0], hashes[2]) == ["tracks"]
    assert hashes[0]["count"] == "2"
