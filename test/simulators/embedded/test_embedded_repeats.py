"""Bit-identical results for equal scenes and calls, also in another process."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import embedded_scenes as scenes
import numpy as np
import pytest

from gz_testauto.base.observation import Twist2D
from gz_testauto.sdf.scene import read_scene
from gz_testauto.simulators import open_simulator


def digest(world):
    """Return a hash of the poses, scans, IMU samples and contacts of a robot that drives into a
    heap of boxes."""
    found = hashlib.sha256()
    with open_simulator("embedded") as simulator:
        simulation = scenes.load(simulator, world, scenes.wheelchair())
        for turn in np.random.default_rng(1).uniform(-0.3, 0.3, 40):
            simulation.drive(Twist2D(0.9, float(turn)))
            snapshot = simulation.step(0.1)
            for state in snapshot.models.values():
                found.update(repr((state.pose, state.linear_mps)).encode())
            found.update(snapshot.scan.ranges_m.tobytes())
            found.update(repr((snapshot.imu, snapshot.contacts)).encode())
    return found.hexdigest()


def heap(folder):
    boxes = [
        scenes.box(
            f"box{i}", 2 + i % 2 * 0.6, i // 2 * 0.6 - 0.6, 0.25, "0.5 0.5 0.5", static=False
        )
        for i in range(6)
    ]
    return scenes.write_world(folder, *boxes)


@pytest.mark.slow
def test_another_process_gives_bit_identical_results(tmp_path):
    world = heap(tmp_path)
    here = digest(world)
    program = f"import test_embedded_repeats as t; print(t.digest({str(world)!r}))"
    path = os.pathsep.join(sys.path)
    for hash_seed in ("1", "2"):
        there = subprocess.run(
            [sys.executable, "-c", program],
            cwd=Path(__file__).parent,
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": path},
            check=True,
            capture_output=True,
            text=True,
        )
        assert there.stdout.strip() == here


def test_step_duration_does_not_change_the_result(tmp_path):
    world = heap(tmp_path)
    ends = []
    with open_simulator("embedded") as simulator:
        for pieces in ([1.0] * 3, [0.05] * 60):
            simulation = scenes.load(simulator, world, scenes.wheelchair())
            simulation.drive(Twist2D(0.9, 0.1))
            for piece in pieces:
                snapshot = simulation.step(piece)
            ends.append((snapshot.time_s, dict(snapshot.models), snapshot.scan.ranges_m.tobytes()))
    assert ends[0] == ends[1]


def test_saved_world_has_movable_models_at_their_present_poses(tmp_path):
    saved = tmp_path / "saved.world"
    with open_simulator("embedded") as simulator:
        simulation = scenes.load(simulator, heap(tmp_path), scenes.wheelchair())
        models = scenes.drive(simulation, Twist2D(0.9, 0.0), 3.0)[-1].models
        simulation.save_world(saved)
    scene = read_scene(saved)
    assert set(scene.models) == set(models)
    for name, state in models.items():
        assert scene.models[name].pose.position == state.pose.position
