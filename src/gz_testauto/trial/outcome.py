"""Declare the outcomes of a trial, from which tables, pages and environments are created.

To add an outcome, also return it from :func:`gz_testauto.trial.termination.check_termination`.
"""

import enum
from dataclasses import dataclass


class Color(enum.Enum):
    """A background color on the HTML page; ``value`` is the style sheet's variable."""

    BLUE = "good"
    ORANGE = "bad"
    YELLOW = "late"
    VIOLET = "stop"
    GREY = "void"


@dataclass(frozen=True)
class Declaration:
    """The properties of an outcome.

    ``name`` is the value in stored results, ``heading`` is for terminal tables, and ``log`` is the
    start of a line in ``campaign.log``. ``symbol`` and ``color`` mark the outcome on the HTML page.
    Only ``valid`` trials are measurements of a planner. A ``crash`` causes damage. If ``terminal``
    is false, a time limit ended the trial, and learning environments report ``truncated``. A
    terminal table omits the column of a ``rare`` outcome without trials.
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
    """The outcome of a trial; ``value`` is the name in results and tables.

    An ``INVALID`` trial has no usable measurement, for example because the simulator stopped.
    ``FAILED`` is only for imported results without the reason of the failure.
    """

    REACHED = Declaration("reached", "✓", Color.BLUE, "Goal Reached!", success=True)
    COLLIDED = Declaration("collided", "✗", Color.ORANGE, "Collision occured!", crash=True)
    TIPPED_OVER = Declaration(
        "tipped_over", "▲", Color.ORANGE, "Robot tipped over!", "tipped", crash=True, rare=True
    )
    LEFT_ROAD = Declaration("left_road", "↷", Color.ORANGE, "Robot left the road!", rare=True)
    TIMED_OUT = Declaration("timed_out", "○", Color.YELLOW, "Timed out!", "timeout", terminal=False)
    STUCK = Declaration("stuck", "■", Color.VIOLET, "Robot stuck!", terminal=False)
    PLANNER_ABORTED = Declaration(
        "planner_aborted", "!", Color.VIOLET, "Planner aborted!", "aborted"
    )
    FALSE_ARRIVAL = Declaration(
        "false_arrival", "≈", Color.VIOLET, "False arrival!", "false arrival", rare=True
    )
    FAILED = Declaration("failed", "–", Color.VIOLET, "Failed!", rare=True)
    INVALID = Declaration("invalid", "?", Color.GREY, "Trial invalid!", valid=False)

    _value_: str
    declaration: Declaration

    def __new__(cls, declaration: Declaration) -> "Outcome":
        # The value is the name, so that Outcome("reached") returns the member.
        outcome = object.__new__(cls)
        outcome._value_ = declaration.name
        outcome.declaration = declaration
        return outcome

    @property
    def valid(self) -> bool:
        return self.declaration.valid

    @property
    def success(self) -> bool:
        return self.declaration.success

    @property
    def label(self) -> str:
        return self.value.replace("_", " ")

    @property
    def heading(self) -> str:
        return self.declaration.heading or self.label
