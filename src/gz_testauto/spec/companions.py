"""Further robots in a campaign's worlds: start, goal and planner of each.

Owns the keys of ``robots:``. Each has a separate velocity command, scan and outcome, and is an
obstacle for the others::


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
"""Largest number of further robots; each has a planner cycle in every control period."""


class CompanionSpec(Spec):
    """A further robot. Its velocity limits, tolerance and time limits are those of ``robot:`` and
    ``goal:``."""

    name: str = Field(pattern=NAME)
    """The model's name in the simulator, and the prefix of its results."""
    model: Optional[SpecPath] = None
    """The file of its SDF model; default: the model of ``robot:``."""
    start: PoseSpec
    """Its pose at the start of each trial."""
    goal: PoseSpec
    """Its goal."""
    planner: str = ""
    """Name of a planner plug-in that it has in every trial; default: the planner under test."""
    parameters: Annotated[Dict[str, Any], BeforeValidator(with_files)] = Field(default_factory=dict)
    """The parameters of ``planner``."""

    @model_validator(mode="after")
    def _parameters_of_a_planner(self) -> "CompanionSpec":
        if self.parameters and not self.planner:
            raise ValueError(f"{self.name} has parameters but no planner; add planner")
        return self
