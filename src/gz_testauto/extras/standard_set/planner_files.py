"""Planners that the command line names: registered plug-ins, and files with a planner entry."""

from pathlib import Path
from typing import List, Sequence

from gz_testauto.base.errors import SpecError
from gz_testauto.base.parameters import construct
from gz_testauto.planners import PLANNERS
from gz_testauto.spec.campaign import BuiltinPlannerSpec
from gz_testauto.spec.loader import load

SUFFIXES = (".yaml", ".yml")


def read_planners(texts: Sequence[str]) -> List[BuiltinPlannerSpec]:
    """Return planners by names or by paths of YAML files with the keys of a campaign's planner.

    Raises ``UnknownNameError`` for an unknown planner, and ``SpecError`` for invalid parameters and
    for names that appear twice.
    """
    planners = [_read_planner(text) for text in texts]
    names = [planner.name for planner in planners]
    for name in names:
        if names.count(name) > 1:
            raise SpecError(
                f"planner {name!r} appears twice; remove one, or set another 'name' in its file"
            )
    return planners


def _read_planner(text: str) -> BuiltinPlannerSpec:
    is_file = Path(text).suffix in SUFFIXES
    if is_file:
        planner = load(Path(text), BuiltinPlannerSpec)
    else:
        PLANNERS.get(text)
        planner = BuiltinPlannerSpec(name=text, plugin=text)
    construct(PLANNERS, planner.plugin, planner.parameters)
    return planner
