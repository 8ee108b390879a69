"""Timeout for a batch of spawned models, and the error for missing models."""

from types import SimpleNamespace

import pytest

from gz_testauto.base.errors import SimulatorError
from gz_testauto.simulators.gazebo import world
from gz_testauto.simulators.gazebo.world import WorldLink
from gz_testauto.simulators.interface import NamedModel

STALL_S = 30.0


@pytest.fixture
def link(monkeypatch):
    """A link to a substitute for gzserver that announces ``shows`` models, one every
    ``seconds_each`` seconds."""
    link = WorldLink.__new__(WorldLink)
    link.stall_timeout_s, link.broken = STALL_S, False
    link.models, link._announced = {}, []
    link.complaints, link.shows, link.seconds_each = [], 10**9, 1.0
    link.server = SimpleNamespace(
        log_size=lambda: 0,
        errors_since=lambda mark: link.complaints,
        describe_end=lambda: "its last lines: " + "| words of the server " * 20,
    )
    sent = []
    link._factory = SimpleNamespace(send=lambda *messages: sent.extend(messages))
    clock = SimpleNamespace(now_s=0.0)
    monkeypatch.setattr(world.time, "monotonic", lambda: clock.now_s)

    def poll(timeout_s):
        clock.now_s += link.seconds_each
        if len(link._announced) < min(link.shows, len(sent)):
            name = f"obstacle_box_{len(link._announced)}"
            link._announced.append(SimpleNamespace(name=name, link=[1], model=[]))
            link.models[name] = link._announced[-1]

    link.node = SimpleNamespace(poll=poll)
    return link


def models(count):
    return [NamedModel(f"obstacle_box_{i}", "<sdf/>") for i in range(count)]


def test_spawn_waits_while_more_models_appear(link):
    link.seconds_each = 20.0
    link.spawn(models(100))
    assert len(link.models) == 100


def test_spawn_times_out_without_progress(link):
    link.shows, link.seconds_each = 10, 29.0
    with pytest.raises(SimulatorError, match="spawning models: no progress for 30 s"):
        link.spawn(models(1000))


def test_error_of_many_missing_models_starts_with_the_cause_and_is_short(link):
    link.shows, link.complaints = 10, ["[Err] the meshes are gone"]
    with pytest.raises(SimulatorError) as told:
        link.spawn(models(1000))
    said = told.value.full
    assert said.startswith("gzserver spawned 10 of 1000 models: [Err] the meshes are gone; missing")
    assert said.endswith("and 985 more")
    assert len(said) < 500


def test_a_world_is_awaited_while_gzserver_loads_it(link, monkeypatch):
    waits, cpu_s = [], iter([0.0, 25.0, 25.0, 29.0, 29.0, 31.0])

    def wait_for(condition, timeout_s, awaited_event):
        waits.append(timeout_s)
        raise TimeoutError(awaited_event)

    link.node.wait_for, link.server.cpu_s = wait_for, lambda: next(cpu_s)
    with pytest.raises(TimeoutError, match="a running world"):
        link._wait_until_loaded()
    assert waits == [STALL_S] * 3

    link.server.cpu_s = iter(range(0, 10**6, 10)).__next__
    monkeypatch.setattr(world.time, "monotonic", lambda: len(waits) * STALL_S)
    with pytest.raises(TimeoutError):
        link._wait_until_loaded()
    assert len(waits) == 3 + world.LONGEST_LOADING_S / STALL_S + 1
