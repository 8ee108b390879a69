"""Coefficients whose products are the smaller one of each pair."""

import itertools

import pytest

from gz_testauto.extras.pybullet.friction import Rubs, solve


def products_of(collisions):
    """Of each pair that can touch: what Bullet makes of it, and the smaller coefficient."""
    own = solve(collisions).coefficients
    return [
        (own[one] * own[other], min(first.mu, second.mu))
        for (one, first), (other, second) in itertools.combinations(collisions.items(), 2)
        if first.model != second.model
    ]


@pytest.mark.parametrize("floor", [0.2, 0.55, 1.0, 100.0])
@pytest.mark.parametrize("wall", [0.2, 1.0])
def test_a_robot_with_casters_rubs_as_in_gazebo_on_any_floor(floor, wall):
    collisions = {
        "floor": Rubs(floor, None, True),
        "wall": Rubs(wall, None, False),
        "wheel": Rubs(1.0, "robot", False),
        "caster": Rubs(0.0, "robot", False),
    }
    del collisions["wall" if floor == 100.0 else "caster"]
    for has, wanted in products_of(collisions):
        assert has == pytest.approx(wanted, rel=1e-6)
    assert solve(collisions).worst is None


def test_many_models_that_move_rub_exactly_where_all_have_one_coefficient():
    collisions = {f"box_{number}": Rubs(0.4, f"box_{number}", False) for number in range(200)}
    collisions["floor"] = Rubs(0.4, None, True)
    for has, wanted in products_of(collisions):
        assert has == pytest.approx(wanted, rel=1e-6)


def test_where_not_all_pairs_can_be_right_the_ground_is_and_the_worst_is_told():
    collisions = {"floor": Rubs(1.0, None, True)}
    for number in range(2):
        collisions[f"sled {number}"] = Rubs(0.2, f"sled {number}", False)
        collisions[f"crate {number}"] = Rubs(0.5, f"crate {number}", False)
    solved = solve(collisions)
    assert solved.worst is not None
    assert "floor" not in (solved.worst.first, solved.worst.second)
    assert abs(solved.worst.has / solved.worst.wanted - 1.0) > 0.05
    for name, wanted in (("sled 0", 0.2), ("crate 1", 0.5)):
        product = solved.coefficients[name] * solved.coefficients["floor"]
        assert product == pytest.approx(wanted, rel=1e-3)
