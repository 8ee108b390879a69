"""Actors spawn and delete models during a trial."""

import numpy as np
import pytest
from actor_scenes import PERIOD_S, person, place, run, simulated

from gz_testauto.actors.actor import Actor
from gz_testauto.actors.flow import Flow, FlowSpec
from gz_testauto.actors.hook import Hook
from gz_testauto.actors.patrol import Patrol
from gz_testauto.base.errors import SceneError
from gz_testauto.base.pose import Pose
from gz_testauto.simulators.changes import SetModel

PATH = [(-2.0, 3.0), (1.0, 3.0)]


def flow(name="f", path=PATH, speed_mps=1.0, absence_s=1.0, min_clearance_m=0.0):
    keys = {"speed_mps": speed_mps, "absence_s": absence_s, "min_clearance_m": min_clearance_m}
    return Flow(name, FlowSpec(name=name, behavior="flow", waypoints_m=path, **keys))


def present(snapshots, name):
    return [name in snapshot.models for snapshot in snapshots]


class TestFlow:
    def test_flow_is_spawned_walks_and_is_deleted_repeatedly(self, tmp_path):
        simulation = simulated(tmp_path, (), [flow()], spare_models=[person("f", 0.0, 0.0)])
        seen = run(simulation, 10.0)
        # spawned at 1.0 s, walks from 1.1 s on for 3 s, deleted at 4.1 s, spawned at 5.1 s
        expected = [10 <= i < 41 or 51 <= i < 82 or i >= 92 for i in range(100)]
        assert present(seen, "f") == expected
        assert place(seen[10], "f") == pytest.approx((-2.0, 3.0, 0.02), abs=1e-6)
        assert place(seen[40], "f") == pytest.approx((1.0, 3.0, 0.02), abs=1e-3)

    def test_flow_waits_until_its_first_waypoint_is_free(self, tmp_path):
        leaving = Patrol("p", (), [(-2.0, 3.0), (-2.0, 6.0)], 1.0, pause_s=0.0)
        simulation = simulated(
            tmp_path,
            [person("p", -2.0, 3.0)],
            [leaving, flow(absence_s=0.0, min_clearance_m=1.25)],
            spare_models=[person("f", 0.0, 0.0)],
        )
        seen = run(simulation, 2.5)
        assert present(seen, "f").index(True) == 15  # 1.3 m away at 1.3 s, tried every 0.5 s

    def test_two_flows_do_not_spawn_at_one_point_together(self, tmp_path):
        pair = [flow(name, absence_s=0.0, min_clearance_m=1.0) for name in ("a", "b")]
        simulation = simulated(
            tmp_path, (), pair, spare_models=[person(name, 0.0, 0.0) for name in "ab"]
        )
        seen = run(simulation, 3.0)
        assert present(seen, "a")[0]
        assert not present(seen, "b")[0]
        both = [s for s in seen if "a" in s.models and "b" in s.models]
        assert both
        assert all(np.hypot(*(place(s, "a") - place(s, "b"))[:2]) > 0.9 for s in both)

    def test_other_actors_move_identically_bit_by_bit(self, tmp_path):
        """Compare another actor's positions bit by bit with and without a flow."""

        def positions(*others):
            patrol = Patrol("p", (), [(-4.0, -3.0), (3.0, -3.0)], 1.3)
            spare = [person(one.name, 0.0, 0.0) for one in others]
            simulation = simulated(
                tmp_path, [person("p", -4.0, -3.0)], [patrol, *others], spare_models=spare
            )
            return np.array([place(snapshot, "p") for snapshot in run(simulation, 6.0)])

        assert np.array_equal(positions(), positions(flow()))


class Dropping(Actor):
    """An actor that spawns a crate next to it once."""

    spare_models = (person("crate", 0.0, 0.0),)

    def act(self, context):
        if context.state("crate") is None:
            x_m, y_m, z_m = self.pose.position
            context.spawn("crate", Pose((x_m + 1.0, y_m, z_m)))


class Once(Hook):
    name = "once"

    def __init__(self, do, at_s=0.0):
        self.do, self.at_s = do, at_s

    def before_step(self, context):
        if abs(context.time_s - self.at_s) < PERIOD_S / 2:
            self.do(context)


def test_actor_spawns_a_spare_model(tmp_path):
    dropping = Dropping("d")
    simulation = simulated(
        tmp_path, [person("d", -2.0, 3.0)], [dropping], spare_models=dropping.spare_models
    )
    assert place(run(simulation, 0.5)[-1], "crate") == pytest.approx((-1.0, 3.0, 0.02), abs=1e-6)


def test_changes_of_a_deleted_model_are_dropped(tmp_path):
    def change_and_delete(context):
        context.change(SetModel("f", linear_mps=(1.0, 0.0, 0.0)))
        context.delete("f")

    simulation = simulated(tmp_path, [person("f", -2.0, 3.0)], hooks=[Once(change_and_delete)])
    assert present(run(simulation, 0.2), "f") == [False, False]


@pytest.mark.parametrize(
    ("do", "message"),
    [
        (lambda context: context.spawn("stranger", Pose()), "no spare model is named 'stranger'"),
        (lambda context: context.spawn("f", Pose()), "'f' cannot be spawned"),
        (lambda context: context.delete("stranger"), "'stranger' cannot be deleted"),
        (lambda context: [context.delete("f") for _ in range(2)], "'f' cannot be deleted"),
    ],
)
def test_invalid_spawn_or_delete_ends_the_trial_with_the_model_name(tmp_path, do, message):
    body = person("f", -2.0, 3.0)
    simulation = simulated(tmp_path, [body], hooks=[Once(do)], spare_models=[body])
    with pytest.raises(SceneError, match=f"hook 'once' .*{message}"):
        simulation.step(PERIOD_S)


def test_two_models_spawned_in_one_step_need_different_names(tmp_path):
    def twice(context):
        for _ in range(2):
            context.spawn("f", Pose((-2.0, 3.0, 0.02)))

    simulation = simulated(tmp_path, (), hooks=[Once(twice)], spare_models=[person("f", 0.0, 0.0)])
    with pytest.raises(SceneError, match="'f' cannot be spawned"):
        simulation.step(PERIOD_S)
