"""Further robots in a campaign's worlds: where each starts and has to go, and what drives it.

Owns the shape of ``robots:``. Each drives beside the robot of ``robot:``, has a command, a scan and
an outcome of its own, and is an obstacle to the others::

    robots:
      - {name: porter, start: {x_m: 8, y_m: 2}, goal: {x_m: -8, y_m: 2}}
      - {name: cleaner, start: {x_m: 0, y_m: 6}, goal: {x_m: 0, y_m: -6}, planner: fgm}
"""

from typing import Any, Dict, Optional

from pydantic import BeforeValidator, Field, model_validator
from typing_extensions import Annotated

from gz_testauto.spec.model import PoseSpec, Spec, SpecPath
from gz_testauto.spec.stack import NAME, with_files

MOST_ROBOTS = 20
"""Beside the first; each thinks in every control period."""


class CompanionSpec(Spec):
    """One further robot. What its base can do is what ``robot:`` says, and so are tolerance and
    limits."""

    name: str = Field(pattern=NAME)
    model: Optional[SpecPath] = None
    """That of ``robot:`` unless given."""
    start: PoseSpec
    goal: PoseSpec
    planner: str = ""
    """A plugin, in every trial the same; the planner under test unless given."""
    parameters: Annotated[Dict[str, Any], BeforeValidator(with_files)] = Field(default_factory=dict)
    """Of ``planner``."""

    @model_validator(mode="after")
    def _parameters_of_a_planner(self) -> "CompanionSpec":
        if self.parameters and not self.planner:
            raise ValueError(
                f"{self.name} has parameters, but the planner under test has its own; give planner"
            )
        return self
