"""Friction coefficients whose products equal the smaller coefficient of each pair."""

import itertools

import pytest

from gz_testauto.extras.pybullet.friction import FrictionSurface, solve


def products_of(collisions):
    """Return, for each pair that can touch, the product in Bullet and the smaller coefficient."""
    own = solve(collisions).coefficients
    return [
        (own[one] * own[other], min(first.mu, second.mu))
        for (one, first), (other, second) in itertools.combinations(collisions.items(), 2)
        if first.model != second.model
    ]


@pytest.mark.parametrize("floor", [0.2, 0.55, 1.0, 100.0])
@pytest.mark.parametrize("wall", [0.2, 1.0])
def test_friction_of_a_robot_with_casters_is_exact_on_any_floor(floor, wall):
    collisions = {
        "floor": FrictionSurface(floor, None, True),
        "wall": FrictionSurface(wall, None, False),
        "wheel": FrictionSurface(1.0, "robot", False),
        "caster": FrictionSurface(0.0, "robot", False),
    }
    del collisions["wall" if floor == 100.0 else "caster"]
    for has, wanted in products_of(collisions):
        assert has == pytest.approx(wanted, rel=1e-6)
    assert solve(collisions).worst is None


def test_friction_of_moving_models_with_one_coefficient_is_exact():
    collisions = {
        f"box_{number}": FrictionSurface(0.4, f"box_{number}", False) for number in range(200)
    }
    collisions["floor"] = FrictionSurface(0.4, None, True)
    for has, wanted in products_of(collisions):
        assert has == pytest.approx(wanted, rel=1e-6)


def test_ground_friction_is_exact_and_the_worst_pair_is_reported():
    collisions = {"floor": FrictionSurface(1.0, None, True)}
    for number in range(2):
        collisions[f"sled {number}"] = FrictionSurface(0.2, f"sled {number}", False)
        collisions[f"crate {number}"] = FrictionSurface(0.5, f"crate {number}", False)
    solved = solve(collisions)
    assert solved.worst is not None
    assert "floor" not in (solved.worst.first, solved.worst.second)
    assert abs(solved.worst.has / solved.worst.wanted - 1.0) > 0.05
    for name, wanted in (("sled 0", 0.2), ("crate 1", 0.5)):
        product = solved.coefficients[name] * solved.coefficients["floor"]
        assert product == pytest.approx(wanted, rel=1e-3)
