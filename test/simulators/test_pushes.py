"""Pushes, counted in physics steps."""

from gz_testauto.simulators.changes import Push
from gz_testauto.simulators.pushes import Pushes

LONG = Push("crate::link", (1.0, 0.0, 0.0), duration_s=0.03)
SHORT = Push("robot::base", (0.0, 2.0, 0.0), duration_s=0.001)


def test_each_acts_in_as_many_steps_as_it_lasts_and_in_one_at_least():
    pushes = Pushes(step_s=0.01)
    pushes.begin(LONG)
    pushes.begin(SHORT)
    assert [pushes.tick() for _ in range(4)] == [(LONG, SHORT), (LONG,), (LONG,), ()]
    assert not pushes


def test_what_is_gone_is_pushed_no_more():
    pushes = Pushes(step_s=0.01)
    pushes.begin(LONG)
    pushes.begin(SHORT)
    pushes.keep({"robot"})
    assert pushes.tick() == (SHORT,)
