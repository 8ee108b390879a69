"""Duration of pushes in physics steps."""

from gz_testauto.simulators.changes import Push
from gz_testauto.simulators.engine_simulation import Pushes

LONG = Push("crate::link", (1.0, 0.0, 0.0), duration_s=0.03)
SHORT = Push("robot::base", (0.0, 2.0, 0.0), duration_s=0.001)


def test_push_acts_for_its_duration_and_at_least_one_step():
    pushes = Pushes(step_s=0.01)
    pushes.begin(LONG)
    pushes.begin(SHORT)
    assert [pushes.next_step() for _ in range(4)] == [(LONG, SHORT), (LONG,), (LONG,), ()]


def test_push_of_a_deleted_model_stops():
    pushes = Pushes(step_s=0.01)
    pushes.begin(LONG)
    pushes.begin(SHORT)
    pushes.keep({"robot"})
    assert pushes.next_step() == (SHORT,)
