"""Nodes in addition to those of py_trees: order, counts, ticks and simulated time."""

import numpy as np
import py_trees
import pytest
from py_trees.common import Status

from gz_testauto.extras.trees import nodes


class Scripted(py_trees.behaviour.Behaviour):
    """A node that returns the given statuses in order, then the last one, and counts its ticks."""

    def __init__(self, name, *statuses):
        super().__init__(name)
        self.statuses, self.ticks, self.stops = statuses, 0, []

    def update(self):
        self.ticks += 1
        return self.statuses[min(self.ticks, len(self.statuses)) - 1]

    def terminate(self, new_status):
        self.stops.append(new_status)


R, S, F = Status.RUNNING, Status.SUCCESS, Status.FAILURE


def tick(node, times=1):
    statuses = []
    for _ in range(times):
        for _ in node.tick():
            pass
        statuses.append(node.status)
    return statuses


class TestRandom:
    def orders(self, kind, seed, times=8):
        log = []

        class Note(py_trees.behaviour.Behaviour):
            def update(self):
                log.append(self.name)
                return S if kind is nodes.RandomSequence else F

        node = kind("r", np.random.default_rng(seed), [Note(name) for name in "abc"])
        tick(node, times)
        return ["".join(log[i : i + 3]) for i in range(0, len(log), 3)]

    @pytest.mark.parametrize("kind", [nodes.RandomSequence, nodes.RandomSelector])
    def test_order_of_children_is_random_and_reproducible_from_the_seed(self, kind):
        first = self.orders(kind, 1)
        assert len(first) == 8
        assert all(sorted(order) == ["a", "b", "c"] for order in first)
        assert len(set(first)) > 2
        assert self.orders(kind, 1) == first
        assert self.orders(kind, 2) != first

    def test_the_order_is_constant_while_a_node_runs(self):
        children = [Scripted(name, R, R, S) for name in "abcd"]
        node = nodes.RandomSequence("r", np.random.default_rng(3), children)
        seen = []
        while node.status != S:
            tick(node)
            seen.append([child.name for child in node.children])
        assert len({tuple(order) for order in seen}) == 1
        assert len(seen) == 9
        assert [child.ticks for child in children] == [3, 3, 3, 3]


class TestParallel:
    def test_parallel_selector_succeeds_with_the_first_child_and_stops_the_others(self):
        slow, quick = Scripted("slow", R), Scripted("quick", R, S)
        node = nodes.ParallelSelector("p", [slow, quick])
        assert tick(node, 2) == [R, S]
        assert slow.status == Status.INVALID
        assert slow.stops == [Status.INVALID]

    def test_parallel_selector_fails_when_all_children_have_failed(self):
        node = nodes.ParallelSelector("p", [Scripted("a", F), Scripted("b", R, R, F)])
        assert tick(node, 3) == [R, R, F]

    def test_a_finished_child_is_not_ticked_until_the_next_run(self):
        first, second = Scripted("a", S), Scripted("b", R, S)
        node = nodes.CountingParallel("p", -1, 1, [first, second])
        assert tick(node, 2) == [R, S]
        assert (first.ticks, second.ticks) == (1, 2)
        tick(node)
        assert first.ticks == 2

    @pytest.mark.parametrize(
        ("success", "failure", "expected"),
        [(2, 2, S), (-1, 1, F), (-1, 2, F), (3, -1, F), (1, 1, S)],
    )
    def test_the_status_depends_on_the_numbers_of_successes_and_failures(
        self, success, failure, expected
    ):
        children = [Scripted("a", S), Scripted("b", S), Scripted("c", F)]
        assert tick(nodes.CountingParallel("p", success, failure, children)) == [expected]


def test_a_sequence_with_memory_continues_at_the_failed_child():
    first, second, third = Scripted("a", S), Scripted("b", F, S), Scripted("c", S)
    node = nodes.SequenceWithMemory("s", [first, second, third])
    assert tick(node, 2) == [F, S]
    assert (first.ticks, second.ticks, third.ticks) == (1, 2, 1)


def test_a_tick_limit_stops_after_its_number_of_ticks():
    child = Scripted("c", R)
    node = nodes.TickLimit("l", child, 3)
    assert tick(node, 3) == [R, R, F]
    assert child.ticks == 3
    assert child.stops[-1] == Status.INVALID
    assert tick(node, 3) == [R, R, F]
    assert tick(nodes.TickLimit("l", Scripted("c", R, S), 3), 2) == [R, S]
    with pytest.raises(ValueError, match="l: 'limit' is 0; it must be at least 1"):
        nodes.TickLimit("l", child, 0)


def test_until_fail_ticks_its_child_repeatedly():
    assert tick(nodes.UntilFail("u", Scripted("c", S, R, S, F)), 4) == [R, R, R, S]
    assert tick(nodes.KeepRunningUntilFailure("u", Scripted("c", S, F)), 2) == [R, F]


class TestTime:
    def test_a_timer_uses_simulated_time(self):
        clock = nodes.Clock()
        wait = nodes.Wait("w", clock, 0.3)
        timeout = nodes.Timeout("t", Scripted("c", R), clock, 0.5)
        delay = nodes.Delay("d", Scripted("c", S), clock, 0.2)
        found = []
        for step in range(6):
            clock.now_s = 10.0 + 0.1 * step
            found.append([tick(node)[0] for node in (wait, timeout, delay)])
        waits, timeouts, delays = zip(*found)
        assert waits == (R, R, R, S, R, R)
        assert timeouts == (R, R, R, R, R, F)
        assert delays == (R, R, S, R, R, S)

    def test_a_timer_does_not_end_while_simulated_time_is_constant(self):
        clock = nodes.Clock()
        assert tick(nodes.Timeout("t", Scripted("c", R), clock, 0.5), 50) == [R] * 50
