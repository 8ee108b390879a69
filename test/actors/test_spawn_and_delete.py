"""Actors spawn and delete models during a trial."""

import pytest
from actor_scenes import PERIOD_S, person, place, run, simulated

from gz_testauto.actors.actor import Actor
from gz_testauto.actors.hook import Hook
from gz_testauto.base.errors import SceneError
from gz_testauto.base.pose import Pose
from gz_testauto.simulators.changes import SetModel


def present(snapshots, name):
    return [name in snapshot.models for snapshot in snapshots]


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
