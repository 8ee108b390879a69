"""Effects of a campaign are active while their condition holds, and restore the original values."""

import numpy as np
import pytest
from actor_scenes import PERIOD_S, person, simulated
from pydantic import TypeAdapter

from gz_testauto.actors.actor import Actor
from gz_testauto.actors.conditional_effects import EffectTargets, create_effects
from gz_testauto.actors.hook import Hook
from gz_testauto.base.observation import ModelState, Twist2D
from gz_testauto.base.pose import Pose
from gz_testauto.simulators.interface import NamedModel
from gz_testauto.spec.effects import Effect
from gz_testauto.testing.simulator_suite import BOX, LAMP, WALL, WORLD

RED = (1.0, 0.0, 0.0, 1.0)
READER = TypeAdapter(Effect)
CRATE = NamedModel(
    "crate",
    '<sdf version="1.6">'
    + BOX.format(name="crate", static="false", pose="0 0 0 0 0 0", size="0.4 0.4 0.4")
    + "</sdf>",
    Pose((-3.0, -3.0, 0.2)),
)


class Walks(Actor):
    """An actor that moves along x at 1 m/s."""

    def act(self, context):
        self.set_twist((1.0, 0.0, 0.0))


class Deletes(Hook):
    """A hook that deletes a model at 0.3 s and spawns it again at 0.6 s."""

    def __init__(self, model):
        super().__init__("deletes")
        self.spare_models = (model,)

    def before_step(self, context):
        (model,) = self.spare_models
        if context.time_s == pytest.approx(0.3):
            context.delete(model.name)
        if context.time_s == pytest.approx(0.6):
            context.spawn(model.name, model.pose)


def scene(tmp_path, spec, models, actors=(), hooks=(), tags=None, world=WORLD, seed=1):
    """Return a simulation with the effect ``spec``, and the hook of the effect."""
    simulation = simulated(tmp_path, models, actors, hooks=hooks, world=world)
    targets = EffectTargets(
        simulation.describe(),
        frozenset(simulation.snapshot().models),
        frozenset(actor.name for actor in actors),
        tags or {},
        "robot",
    )
    written = READER.validate_python({"name": "e", **spec})
    (hook,) = create_effects([written], seed, 0, 0, targets)
    simulation.add(hook)
    return simulation, hook


def active_s(hook):
    return hook.results().numbers["effect_e_s"]


def colors(simulation, periods, model="p"):
    found = []
    for _ in range(periods):
        simulation.step(PERIOD_S)
        found.append(simulation.describe().visuals[f"{model}::link::visual"].diffuse)
    return found


def test_effect_is_active_between_two_times(tmp_path):
    spec = {"effect": "color", "target": "p", "color": [1, 0, 0]}
    when = {"after_s": 0.2, "until_s": 0.5}
    simulation, hook = scene(tmp_path, {**spec, "when": when}, [person("p", -2.0, 2.0)])
    own = simulation.describe().visuals["p::link::visual"].diffuse
    assert colors(simulation, 7) == [own, own, RED, RED, RED, own, own]
    assert active_s(hook) == pytest.approx(0.3)


def test_each_actor_of_a_tag_has_its_own_distance_to_the_robot(tmp_path):
    spec = {"effect": "color", "target": "people", "color": [1, 0, 0]}
    walkers = [Walks("p", ["people"]), Walks("q", ["people"])]
    simulation, _ = scene(
        tmp_path,
        {**spec, "when": {"trigger_distance_m": 1.95}},
        [person("p", -2.25, 0.0), person("q", -4.0, 3.0)],
        walkers,
        tags={"people": ["p", "q"]},
    )
    own = simulation.describe().visuals["p::link::visual"].diffuse
    assert colors(simulation, 6) == [own, own, own, own, RED, RED]
    assert colors(simulation, 1, "q") == [own]


def test_effect_with_a_duration_starts_again_when_its_condition_holds_again(tmp_path):
    spec = {"effect": "blink", "target": "p", "interval_s": 9.0, "duration_s": 0.2}
    spec["when"] = {"trigger": "q", "region": {"rectangle": {"x_m": [-3.85, -3.55], "y_m": [0, 4]}}}
    models = [person("p", -2.0, 2.0), person("q", -4.0, 3.0)]
    simulation, hook = scene(tmp_path, spec, models, [Walks("q")])
    own = simulation.describe().visuals["p::link::visual"].diffuse
    assert colors(simulation, 7) == [own, own, RED, RED, own, own, own]
    simulation.set_states({"q": ModelState(Pose((-3.8, 3.0, 0.02)))})
    assert colors(simulation, 4) == [RED, RED, own, own]
    assert active_s(hook) == pytest.approx(0.4)


def test_deleted_model_has_its_own_visuals_when_it_is_spawned_again(tmp_path):
    spec = {"effect": "invisible", "target": "p", "when": {"until_s": 0.4}}
    model = person("p", -2.0, 2.0)
    simulation, hook = scene(tmp_path, spec, [model], hooks=[Deletes(model)])
    for _ in range(3):
        simulation.step(PERIOD_S)
        assert not simulation.describe().visuals["p::link::visual"].visible
    for _ in range(5):
        simulation.step(PERIOD_S)
    assert simulation.describe().visuals["p::link::visual"].visible
    assert active_s(hook) == pytest.approx(0.4)


def test_light_is_dimmed_in_every_second_interval_and_restored(tmp_path):
    spec = {"effect": "light", "target": "lamp", "factor": 0.5, "interval_s": 0.1}
    world = WORLD.format(models=WALL + LAMP)
    when = {"when": {"until_s": 0.3}}
    simulation, _ = scene(tmp_path, {**spec, **when}, [], world=world)
    before = simulation.describe().lights["lamp"]
    found = []
    for _ in range(4):
        simulation.step(PERIOD_S)
        found.append(simulation.describe().lights["lamp"].diffuse)
    half = (0.45, 0.45, 0.4, 1.0)
    assert found == [half, before.diffuse, half, before.diffuse]
    assert simulation.describe().lights["lamp"] == before


def test_gravity_is_restored_after_the_effect(tmp_path):
    spec = {"effect": "gravity", "mps2": 1.62, "when": {"after_s": 0.1, "until_s": 0.3}}
    simulation, _ = scene(tmp_path, spec, [])
    before = simulation.describe().gravity_mps2
    found = []
    for _ in range(4):
        simulation.step(PERIOD_S)
        found.append(simulation.describe().gravity_mps2)
    assert found == [before, (0, 0, -1.62), (0, 0, -1.62), before]


def test_push_accelerates_a_model_for_its_duration(tmp_path):
    spec = {"effect": "push", "target": "crate", "force_n": [0, 0, 400], "duration_s": 0.1}
    simulation, _ = scene(tmp_path, {**spec, "when": {"after_s": 1.0}}, [CRATE])
    for _ in range(10):
        simulation.step(PERIOD_S)
    mass_kg = simulation.describe().links["crate::link"].inertial.mass_kg
    speed_mps = simulation.step(PERIOD_S).models["crate"].linear_mps[2]
    assert speed_mps == pytest.approx(0.1 * (400 / mass_kg - 9.8), rel=0.02)
    later_mps = simulation.step(PERIOD_S).models["crate"].linear_mps[2]
    assert later_mps == pytest.approx(speed_mps - 0.98, abs=0.01)


def test_flicker_depends_on_the_seed(tmp_path):
    spec = {"effect": "flicker", "target": "p"}
    found = []
    for seed in (1, 1, 2):
        simulation, _ = scene(tmp_path, spec, [person("p", -2.0, 2.0)], seed=seed)
        found.append(colors(simulation, 5))
    assert found[0] == found[1] != found[2]
    assert len(set(found[0])) == 5


def test_effects_do_not_change_the_motion_of_the_robot(tmp_path):
    spec = {"effect": "invisible", "target": "robot"}
    ends = []
    for when in ({}, {"after_s": 99.0}):
        simulation, _ = scene(tmp_path, {**spec, "when": when}, [])
        simulation.drive(Twist2D(0.5, 0.3))
        for _ in range(10):
            snapshot = simulation.step(PERIOD_S)
        ends.append((snapshot.models["robot"].pose, np.asarray(snapshot.scan.ranges_m).tobytes()))
    assert ends[0] == ends[1]
