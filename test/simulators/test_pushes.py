"""Duration of pushes in physics steps."""

import embedded_scenes as scenes
import pytest

from gz_testauto.simulators.changes import Push
from gz_testauto.simulators.embedded import EmbeddedSimulator

LONG = Push("crate::link", (1.0, 0.0, 0.0), duration_s=0.03)
SHORT = Push("ball::link", (0.0, 2.0, 0.0), duration_s=0.001)


@pytest.fixture
def simulation(tmp_path):
    models = [scenes.box(name, x, 0, 0.5, static=False) for x, name in ((0, "crate"), (3, "ball"))]
    with EmbeddedSimulator(step_s=0.01) as simulator:
        yield scenes.load(simulator, scenes.write_world(tmp_path, *models))


def pushes_of_steps(simulation, monkeypatch, count):
    """Return the pushes that act in each of the next physics steps."""
    acting = []
    step = simulation._engine.step
    monkeypatch.setattr(
        simulation._engine, "step", lambda pushes: (acting.append(list(pushes)), step(pushes))
    )
    for _ in range(count):
        simulation.step(0.01)
    return acting


def test_push_acts_for_its_duration_and_at_least_one_step(simulation, monkeypatch):
    simulation.apply([LONG, SHORT])
    assert pushes_of_steps(simulation, monkeypatch, 4) == [[LONG, SHORT], [LONG], [LONG], []]


def test_push_of_a_deleted_model_stops(simulation, monkeypatch):
    simulation.apply([LONG, SHORT])
    simulation.delete(["crate"])
    assert pushes_of_steps(simulation, monkeypatch, 1) == [[SHORT]]
