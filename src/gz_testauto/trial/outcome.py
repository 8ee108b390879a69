"""The outcomes of a trial, each declared once.

Results, tables, the page, LaTeX, ``campaign.log`` and learning environments read these
declarations. To add an outcome, declare it here and return it from
:mod:`gz_testauto.trial.termination`, which decides which outcome a trial has.
"""

import enum
from dataclasses import dataclass


class Color(enum.Enum):
    """A background color of the page. ``value`` is its variable in the style sheet, which defines
    it for light and dark pages."""

    BLUE = "good"
    ORANGE = "bad"
    YELLOW = "late"
    VIOLET = "stop"
    GREY = "void"


@dataclass(frozen=True)
class Declaration:
    """The properties of an outcome.

    ``name`` is the word in stored results, CSV and JSON, ``heading`` the name of its column in the
    terminal's table, ``log`` how its line in ``campaign.log`` starts. ``symbol`` and ``color``
    mark it on the page. Only a ``valid`` trial counts for or against a planner. A ``crash`` does
    harm. A ``terminal`` outcome is a state of the robot and its world; where it is false, a limit
    on time cut the trial short, which learning environments report as truncated. The terminal's
    table omits the column of a ``rare`` outcome that no trial has.
    """

    name: str
    symbol: str
    color: Color
    log: str
    heading: str = ""
    valid: bool = True
    success: bool = False
    crash: bool = False
    terminal: bool = True
    rare: bool = False


class Outcome(enum.Enum):
    """The end of a trial. ``value`` is the word in results and tables.

    An ``INVALID`` trial has no usable measurement: the simulator stopped, a world did not load, a
    clock stalled. ``FAILED`` exists only in imported results that do not state why the robot did
    not reach its goal.
    """

    REACHED = Declaration("reached", "✓", Color.BLUE, "Goal Reached!", success=True)
    COLLIDED = Declaration("collided", "✗", Color.ORANGE, "Collision occured!", crash=True)
    TIPPED_OVER = Declaration(
        "tipped_over", "▲", Color.ORANGE, "Robot tipped over!", "tipped", crash=True, rare=True
    )
    TIMED_OUT = Declaration("timed_out", "○", Color.YELLOW, "Timed out!", "timeout", terminal=False)
    STUCK = Declaration("stuck", "■", Color.VIOLET, "Robot stuck!", terminal=False)
    PLANNER_ABORTED = Declaration(
        "planner_aborted", "!", Color.VIOLET, "Planner aborted!", "aborted"
    )
    FAILED = Declaration("failed", "–", Color.VIOLET, "Failed!", rare=True)
    INVALID = Declaration("invalid", "?", Color.GREY, "Trial invalid!", valid=False)

    _value_: str
    declaration: Declaration

    def __new__(cls, declaration: Declaration) -> "Outcome":
        """Use the name as the value, by which ``Outcome("reached")`` and pickles find a member."""
        outcome = object.__new__(cls)
        outcome._value_ = declaration.name
        outcome.declaration = declaration
        return outcome

    @property
    def valid(self) -> bool:
        """Return whether the trial is a usable measurement of the planner."""
        return self.declaration.valid

    @property
    def success(self) -> bool:
        """Return whether the robot reached its goal."""
        return self.declaration.success

    @property
    def label(self) -> str:
        """Return the outcome in words."""
        return self.value.replace("_", " ")

    @property
    def heading(self) -> str:
        """Return the outcome as the heading of a narrow column."""
        return self.declaration.heading or self.label
