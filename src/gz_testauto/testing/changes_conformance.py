"""Conformance suite for simulators that support property changes.

Subclass the suite in a pytest file and create the simulator in ``make_simulator``, as for
:mod:`gz_testauto.testing.simulator_conformance`::

    class TestMySimulatorChanges(ChangesConformance):
        def make_simulator(self):
            return MySimulator()

Tests of unsupported property changes are skipped. Effects are compared with analytic values.
"""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any, List, Sequence, Tuple

import numpy as np
import pytest

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.observation import ModelState, Snapshot
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.simulators.changes import (
    ALL,
    Change,
    ChangeKind,
    Push,
    SetFriction,
    SetGravity,
    SetJoint,
    SetLight,
    SetLink,
    SetMass,
    SetModel,
    SetVisual,
)
from gz_testauto.simulators.interface import NamedModel, Scene, Simulation, Simulator
from gz_testauto.testing.simulator_suite import (
    DOOR,
    LAMP,
    PERIOD_S,
    WALL,
    WORLD,
    SimulatorSuite,
    assert_identical_traces,
    body,
    rejected,
    steps,
)

GRAVITY_MPS2 = 9.8
PUCK_KG = 2.0
RED = (0.8, 0.1, 0.1, 1.0)


class ChangesConformance(SimulatorSuite):
    """The conformance suite for property changes. Override :meth:`make_simulator`.

    The world contains a floor, a wall, a lamp, a door on a hinge, and two boxes of 2 kg. The box
    ``puck`` floats, and the box ``sled`` rests on the floor.
    """

    @pytest.fixture
    def scene(self, tmp_path: Path, robot: RobotModel) -> Scene:
        """Return the scene of the suite, whose robot does not obstruct the boxes."""
        path = tmp_path / "changes.world"
        puck = body("puck", "0 5 2", gravity=False)
        sled = body("sled", "2 3 0.05", size="0.4 0.4 0.1")
        path.write_text(WORLD.format(models=WALL + LAMP + DOOR + puck + sled))
        return Scene(path, robot, seed=3)

    # physics

    @pytest.mark.parametrize("mass_kg", [PUCK_KG, 20.0])
    def test_a_push_changes_the_velocity_by_impulse_over_mass(
        self, simulator: Simulator, simulation: Simulation, mass_kg: float
    ) -> None:
        changes: List[Change] = [Push("puck::link", (20.0, 0, 0))]
        if mass_kg != PUCK_KG:
            changes.insert(0, SetMass("puck::link", mass_kg))
        need(simulator, *map(type, changes))
        simulation.apply(changes)
        assert simulation.describe().links["puck::link"].inertial.mass_kg == mass_kg  # type: ignore[union-attr]
        run(simulation, 0.3)
        speed = velocity(simulation, "puck")
        assert speed == pytest.approx((2.0 / mass_kg, 0, 0), rel=1e-3, abs=1e-6)

    def test_a_push_moves_a_model_by_force_over_mass(
        self, simulator: Simulator, simulation: Simulation
    ) -> None:
        need(simulator, Push)
        simulation.apply([Push("puck::link", (0, 4.0, 0), duration_s=0.25)])
        start_m = position(simulation, "puck")
        passed_s = run(simulation, 0.5)
        displacement = position(simulation, "puck") - start_m
        expected_m = 2.0 * 0.25**2 / 2 + 0.5 * (passed_s - 0.25)
        assert displacement == pytest.approx((0, expected_m, 0), abs=2e-3)

    def test_a_push_is_in_the_world_frame_and_does_not_advance_time(
        self, simulator: Simulator, simulation: Simulation
    ) -> None:
        """The world frame and the link frame differ, since the pushed box has a yaw of 90°."""
        need(simulator, Push, SetModel)
        simulation.apply([SetModel("puck", Pose.from_rpy(0, 5, 2, 0, 0, math.pi / 2))])
        before_s = simulation.step(PERIOD_S).time_s
        simulation.apply([Push("puck::link", (20.0, 0, 0))])
        assert simulation.snapshot().time_s == before_s, "the change advanced the simulated time"
        run(simulation, 0.3)
        assert velocity(simulation, "puck") == pytest.approx((1.0, 0, 0), rel=1e-3, abs=1e-3)

    def test_a_torque_changes_the_yaw_rate_by_angular_impulse_over_inertia(
        self, simulator: Simulator, simulation: Simulation
    ) -> None:
        need(simulator, Push)
        simulation.apply([Push("puck::link", torque_nm=(0, 0, 0.1), duration_s=0.1)])
        run(simulation, 0.2)
        first_snapshot, second_snapshot = simulation.snapshot(), simulation.step(PERIOD_S)
        turned_rad = (
            second_snapshot.models["puck"].pose.yaw_rad - first_snapshot.models["puck"].pose.yaw_rad
        )
        rate_radps = turned_rad / (second_snapshot.time_s - first_snapshot.time_s)
        assert rate_radps == pytest.approx(0.1 * 0.1 / 0.02, rel=0.01)

    def test_a_sliding_model_without_friction_keeps_its_speed(
        self, simulator: Simulator, simulation: Simulation
    ) -> None:
        need(simulator, SetFriction, SetModel)
        simulation.apply([SetFriction("sled::link::collision", 0.0)])
        simulation.step(PERIOD_S)
        simulation.apply([SetModel("sled", linear_mps=(1.0, 0, 0))])
        run(simulation, 1.0)
        assert velocity(simulation, "sled")[0] == pytest.approx(1.0, rel=0.01)

    def test_a_sliding_model_stops_after_the_distance_v2_over_2_mu_g(
        self, simulator: Simulator, simulation: Simulation
    ) -> None:
        need(simulator, SetFriction, SetModel)
        for mu in (1.0, 0.25):
            simulation.apply([SetFriction("sled::link::collision", mu)])
            run(simulation, 0.3)
            start_m = position(simulation, "sled")
            simulation.apply([SetModel("sled", linear_mps=(1.0, 0, 0))])
            run(simulation, 1.0)
            displacement = position(simulation, "sled") - start_m
            assert displacement[0] == pytest.approx(1 / (2 * mu * GRAVITY_MPS2), rel=0.04)
            assert velocity(simulation, "sled")[0] == pytest.approx(0.0, abs=1e-3)

    def test_friction_can_be_set_to_zero_and_then_restored(
        self, simulator: Simulator, simulation: Simulation
    ) -> None:
        need(simulator, SetFriction, SetModel)
        simulation.apply([SetFriction("sled::link::collision", 0.0)])
        simulation.apply([SetFriction("sled::link::collision", 1.0)])
        simulation.step(PERIOD_S)
        start_m = position(simulation, "sled")
        simulation.apply([SetModel("sled", linear_mps=(1.0, 0, 0))])
        run(simulation, 0.5)
        displacement = position(simulation, "sled") - start_m
        assert displacement[0] == pytest.approx(1 / (2 * GRAVITY_MPS2), rel=0.04)

    def test_models_accelerate_with_the_gravity_that_was_set(
        self, simulator: Simulator, simulation: Simulation
    ) -> None:
        need(simulator, SetGravity)
        run(simulation, 0.1)
        start_m = position(simulation, "sled")
        simulation.apply([SetGravity(mps2=(0.0, 0.0, 2.0))])
        passed_s = run(simulation, 0.5)
        rise = position(simulation, "sled") - start_m
        assert rise == pytest.approx((0, 0, 2.0 * passed_s**2 / 2), abs=0.005)
        assert simulation.describe().gravity_mps2 == (0.0, 0.0, 2.0)

    # moving

    def test_a_model_keeps_its_twist_without_forces(
        self, simulator: Simulator, simulation: Simulation
    ) -> None:
        need(simulator, SetModel)
        simulation.apply([SetModel("puck", linear_mps=(0.5, -0.2, 0.1), angular_radps=(0, 0, 0.4))])
        start_m = position(simulation, "puck")
        passed_s = run(simulation, 1.0)
        last_snapshot = simulation.snapshot()
        displacement = np.array(last_snapshot.models["puck"].pose.position) - start_m
        assert displacement == pytest.approx(np.array((0.5, -0.2, 0.1)) * passed_s, abs=2e-3)
        assert last_snapshot.models["puck"].pose.yaw_rad == pytest.approx(0.4 * passed_s, abs=2e-3)

    def test_a_model_follows_a_circle_if_its_twist_is_set_in_each_period(
        self, simulator: Simulator, simulation: Simulation
    ) -> None:
        need(simulator, SetModel)
        if not simulator.steps_exactly:
            pytest.skip(f"{simulator.name} does not step by exact durations")
        start = position(simulation, "puck")
        for period in range(40):
            time_s = period * PERIOD_S
            target = start + circle(time_s + PERIOD_S)
            position_m = position(simulation, "puck")
            speed = (target - position_m) / PERIOD_S
            simulation.apply(
                [SetModel("puck", linear_mps=tuple(speed), angular_radps=(0.0, 0.0, 1.0))]
            )
            simulation.step(PERIOD_S)
            assert position(simulation, "puck") == pytest.approx(target, abs=1e-3)

    def test_a_model_has_the_pose_that_was_set(
        self, simulator: Simulator, simulation: Simulation
    ) -> None:
        need(simulator, SetModel)
        pose = Pose.from_rpy(-3, 2, 1, 0, 0, 0.5)
        simulation.apply([SetModel("puck", pose)])
        placed = simulation.step(PERIOD_S).models["puck"].pose
        assert placed.position == pytest.approx(pose.position, abs=1e-5)
        assert placed.yaw_rad == pytest.approx(0.5, abs=1e-5)

    def test_a_link_has_the_pose_and_velocity_that_were_set(
        self, simulator: Simulator, simulation: Simulation
    ) -> None:
        need(simulator, SetLink)
        simulation.apply([SetLink("puck::link", Pose((-3.0, 2.0, 1.0)), (0.5, 0.0, 0.0))])
        passed_s = run(simulation, 0.2)
        expected_m = (-3.0 + 0.5 * passed_s, 2, 1)
        assert position(simulation, "puck") == pytest.approx(expected_m, abs=1e-3)

    def test_a_joint_has_the_position_that_was_set(
        self, simulator: Simulator, simulation: Simulation
    ) -> None:
        need(simulator, SetJoint)
        simulation.apply([SetJoint("door::hinge", position=0.7)])
        leaf = simulation.snapshot().links["door::leaf"].pose
        assert leaf.yaw_rad == pytest.approx(0.7, abs=1e-6)

    # visuals and lights

    def test_changed_visuals_and_lights_are_described(
        self, simulator: Simulator, simulation: Simulation
    ) -> None:
        need(simulator, SetVisual, SetLight)
        visual, lamp = "sled::link::visual", simulation.describe().lights["lamp"]
        simulation.apply(
            [
                SetVisual(visual, diffuse=RED, transparency=0.25, visible=False),
                SetLight("lamp", diffuse=RED, range_m=4.0),
            ]
        )
        shown_visual = simulation.describe().visuals[visual]
        assert (shown_visual.diffuse, shown_visual.transparency, shown_visual.visible) == (
            RED,
            0.25,
            False,
        )
        changed_light = simulation.describe().lights["lamp"]
        assert changed_light == replace(lamp, diffuse=RED, range_m=4.0)

    def test_a_saved_world_contains_the_changes(
        self, simulator: Simulator, simulation: Simulation, tmp_path: Path
    ) -> None:
        changes: List[Change] = [
            SetMass("sled::link", 3.5),
            SetFriction("sled::link::collision", 0.3, 0.2),
            SetVisual("puck::link::visual", emissive=RED, transparency=0.5),
            SetLight("lamp", specular=RED, linear=0.2),
            SetGravity(mps2=(0.0, 0.0, -3.7)),
        ]
        simulation.apply([change for change in changes if type(change) in simulator.changes])
        description, saved_world = simulation.describe(), tmp_path / "saved.world"
        simulation.save_world(saved_world)
        loaded_description = simulator.load(Scene(saved_world)).describe()
        assert loaded_description.gravity_mps2 == description.gravity_mps2
        for link in ("sled::link", "puck::link", "door::leaf"):
            first, second = (
                loaded_description.links[link].inertial,
                description.links[link].inertial,
            )
            assert first is not None and second is not None
            assert first.mass_kg == pytest.approx(second.mass_kg)
            assert first.tensor_kgm2 == pytest.approx(second.tensor_kgm2, abs=1e-6)
        for visual in ("puck::link::visual", "sled::link::visual"):
            if SetVisual in simulator.changes:
                assert_equal_descriptions(
                    loaded_description.visuals[visual], description.visuals[visual]
                )
        if SetFriction in simulator.changes:
            assert_equal_descriptions(
                loaded_description.collisions["sled::link::collision"],
                description.collisions["sled::link::collision"],
            )
        if SetLight in simulator.changes:
            assert_equal_descriptions(loaded_description.lights["lamp"], description.lights["lamp"])

    # spawned and deleted models

    def test_properties_of_a_spawned_model_change_until_it_is_deleted(
        self, simulator: Simulator, simulation: Simulation
    ) -> None:
        need(simulator, SetMass, Push)
        simulation.apply([SetMass("puck::link", 4.0)])
        text = f'<sdf version="1.6">{body("other", "0 0 0", gravity=False)}</sdf>'
        simulation.spawn([NamedModel("late", text, Pose((-3.0, -3.0, 1.0)))])
        simulation.apply([Push("late::link", (20, 0, 0)), Push("puck::link", (20, 0, 0))])
        run(simulation, 0.3)
        assert velocity(simulation, "late")[0] == pytest.approx(1.0, rel=1e-3)
        assert velocity(simulation, "puck")[0] == pytest.approx(0.5, rel=1e-3)
        simulation.delete(["late"])
        with pytest.raises(SimulatorError, match="unknown link 'late::link'"):
            simulation.apply([Push("late::link", (20, 0, 0))])
        simulation.step(PERIOD_S)

    # invalid changes

    def test_if_one_name_is_unknown_no_change_is_applied(
        self, simulator: Simulator, simulation: Simulation
    ) -> None:
        if SetModel in simulator.changes:
            with rejected("there is no model named 'unknown'"):
                simulation.apply([SetModel("puck", linear_mps=(1, 0, 0)), SetModel("unknown")])
        if SetMass in simulator.changes:
            message = (
                "SetMass: unknown link 'sled::lnk'; did you mean 'sled::link'? Known: sled::link"
            )
            with rejected(message):
                simulation.apply([SetMass("puck::link", 9.0), SetMass("sled::lnk", 9.0)])
            inertial = simulation.describe().links["puck::link"].inertial
            assert inertial is not None and inertial.mass_kg == 2.0
        assert velocity(simulation, "puck") == pytest.approx((0, 0, 0), abs=1e-9)

    def test_a_push_of_a_static_model_is_rejected(
        self, simulator: Simulator, simulation: Simulation
    ) -> None:
        need(simulator, Push)
        with pytest.raises(SimulatorError, match="'wall::link' is static"):
            simulation.apply([Push("wall::link", (1, 0, 0))])

    def test_error_for_an_unsupported_change_names_its_kind(
        self, simulator: Simulator, simulation: Simulation
    ) -> None:
        examples = (
            SetModel("puck"),
            SetLink("puck::link"),
            SetJoint("door::hinge"),
            SetMass("puck::link", 1.0),
            SetFriction("sled::link::collision", 1.0),
            SetGravity(),
            Push("puck::link"),
            SetVisual("puck::link::visual"),
            SetLight("lamp"),
        )
        assert {type(example) for example in examples} == ALL
        for example in examples:
            if type(example) not in simulator.changes:
                message = f"this simulator does not support {type(example).__name__}"
                with pytest.raises(SimulatorError, match=message):
                    simulation.apply([example])

    # repeatability

    def test_equal_changes_give_bit_identical_poses(
        self, simulator: Simulator, scene: Scene
    ) -> None:
        need(simulator, SetModel)
        if not simulator.repeatable:
            pytest.skip(f"{simulator.name} is not repeatable to the bit")
        first = trace(simulator.load(scene))
        assert_identical_traces(trace(simulator.load(scene)), first)
        with self.make_simulator() as other_simulator:
            assert_identical_traces(trace(other_simulator.load(scene)), first)


def need(simulator: Simulator, *kinds: ChangeKind) -> None:
    """Skip the test if the simulator does not support all classes of property changes in
    ``kinds``."""
    for kind in kinds:
        if kind not in simulator.changes:
            pytest.skip(f"{simulator.name} does not support {kind.__name__}")


def run(simulation: Simulation, duration_s: float) -> float:
    """Step in control periods for at least ``duration_s``, and return the simulated time (s) that
    passed. It exceeds ``duration_s`` if a step can take longer than a period."""
    began_s = simulation.snapshot().time_s
    return steps(simulation, duration_s)[-1].time_s - began_s


def position(simulation: Simulation, model: str) -> np.ndarray:
    """Return the position of a model (m) in the world frame."""
    return np.array(simulation.snapshot().models[model].pose.position)


def velocity(simulation: Simulation, model: str) -> np.ndarray:
    """Step by a control period, and return the mean velocity of a model (m/s) in this period, in
    the world frame."""
    first_snapshot = simulation.snapshot()
    second_snapshot = simulation.step(PERIOD_S)
    displacement = np.subtract(
        second_snapshot.models[model].pose.position, first_snapshot.models[model].pose.position
    )
    return displacement / (second_snapshot.time_s - first_snapshot.time_s)


def circle(time_s: float) -> np.ndarray:
    """Return the position (m) of a body that has moved for ``time_s`` on a circle of radius 1 m at
    1 rad/s."""
    return np.array([math.sin(time_s), 1 - math.cos(time_s), 0.0])


def assert_equal_descriptions(first: Any, second: Any) -> None:
    """Assert that all numbers in two descriptions are equal up to rounding to single precision. Of
    a pose, only the position is compared."""
    for name, value in vars(first).items():
        other_value = getattr(second, name)
        if isinstance(value, Pose):
            value, other_value = value.position, other_value.position
        assert value == pytest.approx(other_value, abs=1e-5), name


def trace(simulation: Simulation) -> Tuple[bytes, ...]:
    """Move and push two boxes, and return their poses after each control period as bytes."""
    generator = np.random.default_rng(8)
    rows = []
    for period in range(20):
        x, y = generator.uniform(-1, 1, 2).tolist()
        changes: List[Change] = [SetModel("puck", linear_mps=(x, y, 0.0))]
        if period == 5 and Push in simulation.changes:
            changes.append(Push("sled::link", (40.0, 5.0, 0.0), duration_s=0.15))
        simulation.apply(changes)
        rows.append(_pose_bytes(simulation.step(PERIOD_S), ("puck", "sled")))
    return tuple(rows)


def _pose_bytes(snapshot: Snapshot, models: Sequence[str]) -> bytes:
    states: List[ModelState] = [snapshot.models[model] for model in models]
    return np.array([[*s.pose.position, *s.pose.quaternion] for s in states]).tobytes()
