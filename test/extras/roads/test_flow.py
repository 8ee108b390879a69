"""Actors that pass through a world repeatedly."""

import numpy as np
import pytest
from actor_scenes import person, place, run, simulated

from gz_testauto.actors.patrol import Patrol
from gz_testauto.extras.roads.flow import Flow, FlowSpec

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
