"""How a trial can end: exactly one of seven ways, and an eighth for trials of others.

The words that tables, results and logs use, and nothing more. Who decides between them is
:mod:`gz_testauto.trial.judge`.
"""

import enum


class Outcome(enum.Enum):
    """The end of a trial. ``value`` is the word written to results and tables.

    ``INVALID`` says nothing about the planner: the simulator died, a world did not load, a
    clock stalled. It never counts for or against anyone. ``FAILED`` is only in results that were
    imported: the robot did not reach its goal, and whoever drove it does not say why.
    """

    REACHED = "reached"
    COLLIDED = "collided"
    TIPPED_OVER = "tipped_over"
    TIMED_OUT = "timed_out"
    STUCK = "stuck"
    PLANNER_ABORTED = "planner_aborted"
    FAILED = "failed"
    INVALID = "invalid"

    @property
    def valid(self) -> bool:
        """Whether the trial says something about the planner."""
        return self is not Outcome.INVALID
