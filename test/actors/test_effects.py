"""Effects stack, and the original visual returns when the last one ends."""

import itertools

import numpy as np
import pytest
from actor_scenes import PERIOD_S, person, simulated

from gz_testauto.actors.effects import Blink, Fade, Flicker, Invisible
from gz_testauto.actors.hook import Hook
from gz_testauto.simulators.changes import SetVisual

VISUAL = "p::link::visual"
RED = (1.0, 0.0, 0.0, 1.0)


@pytest.fixture
def simulation(tmp_path):
    return simulated(tmp_path, [person("p", -2.0, 2.0)])


@pytest.fixture
def effects(simulation):
    return simulation.effects


def look(simulation):
    return simulation.describe().visuals[VISUAL]


def looks(simulation, periods):
    found = []
    for _ in range(periods):
        simulation.step(PERIOD_S)
        found.append(look(simulation))
    return found


def test_blinking_model_has_its_color_in_every_second_interval(simulation, effects):
    original = look(simulation)
    effects.start(Blink(RED, 0.2), "p", 1.0)
    colors = [each.diffuse for each in looks(simulation, 11)]
    own = original.diffuse
    assert colors == [RED, RED, own, own, RED, RED, own, own, RED, RED, own]
    assert look(simulation) == original


def test_fade_is_linear_over_its_duration_and_ends(simulation, effects):
    original = look(simulation)
    effects.start(Fade(1.0), "p", 0.5)
    shares = [each.transparency for each in looks(simulation, 6)]
    assert shares == pytest.approx([0.0, 0.2, 0.4, 0.6, 0.8, 0.0])
    assert look(simulation) == original


def test_invisible_model_is_visible_again_when_the_effect_is_stopped(simulation, effects):
    original = look(simulation)
    ended = []
    running = effects.start(Invisible(), "p", on_end=ended.append)
    assert [each.visible for each in looks(simulation, 3)] == [False] * 3
    assert ended == []
    running.stop()
    assert looks(simulation, 1) == [original]
    assert ended == [running]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_original_visual_returns_when_the_last_effect_ends(simulation, effects, order):
    original = look(simulation)
    kinds = (Invisible(), Blink(RED, 0.1), Fade(0.7))
    for rank, kind in zip(order, kinds):
        effects.start(kind, "p", 0.3 + 0.2 * rank)
        simulation.step(PERIOD_S)
    looks(simulation, 9)
    assert look(simulation) == original


def test_changes_by_other_hooks_apply_below_the_effect(tmp_path):
    class Painter(Hook):
        name = "painter"

        def before_step(self, context):
            if context.time_s == pytest.approx(0.2):
                context.change(SetVisual(VISUAL, diffuse=(0.0, 1.0, 0.0, 1.0)))

    simulation = simulated(tmp_path, [person("p", -2.0, 2.0)], hooks=[Painter()])
    simulation.effects.start(Blink(RED, 10.0), "p", 0.5)
    assert [each.diffuse for each in looks(simulation, 5)] == [RED] * 5
    assert looks(simulation, 1)[0].diffuse == (0.0, 1.0, 0.0, 1.0)


def test_flickering_is_reproducible_from_its_seed(simulation, effects):
    own = look(simulation).diffuse[0]
    effects.start(Flicker(np.random.default_rng(4), 0.2), "p", 1.0)
    first = [each.diffuse[0] for each in looks(simulation, 10)]
    simulation.step(PERIOD_S)
    effects.start(Flicker(np.random.default_rng(4), 0.2), "p", 1.0)
    assert [each.diffuse[0] for each in looks(simulation, 10)] == pytest.approx(first)
    assert 0.2 * own <= min(first) < max(first) <= own
    assert len(set(first)) == 10
