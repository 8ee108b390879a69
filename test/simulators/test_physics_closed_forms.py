"""Physics of simulators, compared with exact values and with known deviations."""

import math
from dataclasses import replace

import pytest
from physics_bodies import PhysicsResult
from physics_closed_forms import CHECKS, PhysicsCheck, PhysicsCheckResult, check_physics
from physics_robots import HUSKY, WheelContacts, sliding_twist
from scipy.integrate import quad
from scipy.optimize import brentq

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.observation import Twist2D
from gz_testauto.simulators.embedded.simulator import EmbeddedSimulation

BY_NAME = {check.name: check for check in CHECKS}
OF_SERVOS = ("skid_turn", "locked_wheels")
"""Names of checks whose results are prescribed for a robot that is moved by servos."""


def outcome_of(name, entry, simulator, **options):
    (outcome,) = check_physics(entry, simulator, options, [BY_NAME[name]])
    return outcome


@pytest.mark.parametrize("name", [name for name in BY_NAME if name not in OF_SERVOS])
def test_embedded_simulator_is_within_2_percent_of_exact_values(name):
    assert outcome_of(name, "embedded", "embedded").deviation == pytest.approx(0, abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "within"), [("slide", 0.01), ("locked_wheels", 0.01), ("skid_turn", 0.02)]
)
def test_wheels_with_friction_drive_are_within_2_percent_of_exact_values(name, within):
    outcome = outcome_of(name, "embedded", "embedded", skid="wheels")
    assert outcome.deviation == pytest.approx(0, abs=within)
    assert outcome.converged in (None, True)


@pytest.mark.slow
def test_husky_turns_at_the_yaw_rate_for_contacts_on_wheel_rims():
    # in MuJoCo a cylinder touches a plane at its rims; least power by quadrature, below
    outcome = outcome_of("skid_turn", "embedded", "embedded", skid="wheels")
    assert [outcome.value, outcome.other_value] == pytest.approx([0.2409] * 2, rel=1e-3)


@pytest.mark.gazebo
@pytest.mark.slow
def test_gazebo_slides_and_rolls_exactly_but_barely_turns_a_skid_steer_robot():
    names = ("slide", "rolling_ball", "imu_arm", "skid_turn")
    outcomes = check_physics("ode", "gazebo", {}, [BY_NAME[name] for name in names])
    *within, turn = outcomes
    assert [o.deviation for o in within] == pytest.approx([0, 0, 0], abs=0.02)
    assert turn.deviation < -0.5  # its wheels slow down within the step


def test_skid_steer_robot_with_equal_loads_has_the_exact_yaw_rate():
    square = WheelContacts(((0.3, 0.2), (0.3, -0.2), (-0.3, 0.2), (-0.3, -0.2)), (0.0, 0.0), 40.0)
    assert square.loads_n() == pytest.approx([98.0] * 4)
    twist = sliding_twist(square, Twist2D(0.0, 1.0))
    assert twist == pytest.approx((0, 0, 0.2**2 / (0.2**2 + 0.3**2)), abs=1e-5)
    assert sliding_twist(square, Twist2D(0.7, 0.0)) == pytest.approx((0.7, 0, 0), abs=1e-5)


def test_line_contacts_of_wheels_turn_at_balanced_friction_moments():
    a, b, half = 0.3, 0.2, 0.06
    wheels = tuple((x, y) for x in (a, -a) for y in (b, -b))
    weight = WheelContacts(wheels, (0.0, 0.0), 40.0, width_m=2 * half)

    def moment(share, beside):
        """Return the moment of friction about the center at one contact point of a wheel that is
        commanded to 1 rad/s."""
        along, across = b - share * beside, share * a
        return (beside * along - a * across) / math.hypot(along, across)

    def of_wheel(share):
        return quad(lambda beside: moment(share, beside), b - half, b + half)[0]

    expected = brentq(of_wheel, 0.1, 0.9)
    twist = sliding_twist(weight, Twist2D(0.0, 1.0))
    assert twist == pytest.approx((0, 0, expected), abs=1e-6)
    assert expected < 0.995 * sliding_twist(replace(weight, width_m=0.0), Twist2D(0.0, 1.0))[2]
    assert sliding_twist(weight, Twist2D(0.7, 0.0)) == pytest.approx((0.7, 0, 0), abs=1e-5)


def test_wheel_loads_balance_the_weight_of_a_husky():
    loads = HUSKY.loads_n()
    assert sum(loads) == pytest.approx(56.582 * 9.8)
    moment = sum(load * y for load, (_, y) in zip(loads, HUSKY.wheels_m))
    assert moment == pytest.approx(-0.085 * 46.034 * 9.8)
    assert loads[1] > loads[0] > 0


@pytest.mark.parametrize(("at_5_ms", "converged"), [(0.249, True), (0.12, False), (None, None)])
def test_check_with_different_values_at_two_steps_is_not_converged(at_5_ms, converged):
    outcome = PhysicsCheckResult(
        "e", "skid_turn", "rad/s", 0.001, 0.25, 0.277, other_step_s=0.005, other_value=at_5_ms
    )
    assert outcome.converged is converged
    assert outcome.deviation == pytest.approx(0.25 / 0.277 - 1)


def test_unsupported_physics_check_is_reported_and_others_are_measured():
    def impossible(loader):
        raise SimulatorError("there is no ground here")

    checks = [
        PhysicsCheck("no", "m", "", impossible, converges=True),
        PhysicsCheck(
            "yes", "m", "", lambda loader: PhysicsResult(loader.step_s, 0.0, 2.0), converges=True
        ),
    ]
    refused, measured = check_physics("e", "embedded", {}, checks, (0.002, 0.004))
    assert (refused.value, refused.refusal) == (None, "there is no ground here")
    assert refused.deviation is None and refused.converged is None
    assert (measured.step_s, measured.value, measured.deviation) == (0.002, 0.002, 0.001)
    assert (measured.other_step_s, measured.other_value) == (0.004, 0.004)
    assert math.isfinite(measured.value) and measured.refusal is None


@pytest.mark.parametrize("name", ["sliding_stop", "imu_arm"])
def test_body_without_the_requested_twist_is_not_measured(name, monkeypatch):
    monkeypatch.setattr(EmbeddedSimulation, "_apply", lambda self, changes: None)
    outcome = outcome_of(name, "embedded", "embedded")
    assert outcome.value is None
    assert "was set" in outcome.refusal
