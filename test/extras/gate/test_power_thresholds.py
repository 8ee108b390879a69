"""Powers that are exactly the usual one are enough."""

import numpy as np
import pytest

from gz_testauto.extras.gate.power import CHANCE, Pilot, smallest_difference, worlds_for

PILOT = Pilot(np.array([0.5, 0.1]))


@pytest.mark.parametrize("needed", [8, 9, 37, 64, 65])
def test_worlds_with_exactly_the_usual_power_are_enough(monkeypatch, needed):
    monkeypatch.setattr(
        Pilot, "power", lambda pilot, worlds, alpha: CHANCE if worlds >= needed else 0.0
    )
    assert worlds_for(PILOT, 0.05) == needed


def test_more_than_a_hundred_thousand_worlds_are_none(monkeypatch):
    monkeypatch.setattr(Pilot, "power", lambda pilot, worlds, alpha: 0.0)
    assert worlds_for(PILOT, 0.05) is None
    assert smallest_difference(20, PILOT, 0.05) is None


def test_the_smallest_difference_has_exactly_the_usual_power(monkeypatch):
    def reached_from(limit):
        def found(pilot, worlds, alpha):
            return CHANCE if pilot.difference >= limit else 0.0

        monkeypatch.setattr(Pilot, "power", found)
        return smallest_difference(20, Pilot(np.array([0.0, 0.0])), 0.05)

    assert reached_from(0.25) == pytest.approx(0.25, abs=1e-12)
    assert reached_from(0.3) == pytest.approx(0.3, abs=2 / 2**9)
    assert reached_from(0.3) >= 0.3
    assert reached_from(1.0) == pytest.approx(1.0)
