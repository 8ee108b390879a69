"""The planner that docs/planners.md shows is a planner that works."""

import inspect
import math
import re
from pathlib import Path

import pytest

from gz_testauto.planners import PLANNERS
from gz_testauto.testing.planner_conformance import PlannerConformance

DOCS = Path(__file__).parents[2] / "docs" / "planners.md"
WORDS = {"()": (), "true": True}  # values in the tables that are no numbers


@pytest.fixture(scope="module")
def example():
    blocks = re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    names = {"__name__": "example"}
    exec(
        compile(next(block for block in blocks if "class Cautious" in block), str(DOCS), "exec"),
        names,
    )
    return names["Cautious"]


class TestExampleOfTheDocs(PlannerConformance):
    passes_obstacles = False

    @pytest.fixture(autouse=True)
    def _use(self, example):
        self.example = example

    def make_planner(self):
        return self.example()


def documented():
    """(plugin, parameter, default) of every row of the parameter tables."""
    plugin = ""
    for line in DOCS.read_text(encoding="utf-8").splitlines():
        if line.startswith("### `"):
            plugin = line.split("`")[1]
        row = re.match(r"\| `(\w+)` \| (\(\)|true|[\d.]*)(π?) \|", line)
        if plugin and row:
            name, number, pi = row.groups()
            if number in WORDS:
                yield plugin, name, WORDS[number]
            else:
                yield plugin, name, float(number or 1.0) * (math.pi if pi else 1.0)


@pytest.mark.parametrize("plugin", ["straight", "fgm", "fgm_improved", "dwa", "dwa_fox"])
def test_documentation_lists_every_parameter_with_its_default(plugin):
    signature = inspect.signature(PLANNERS.get(plugin)).parameters
    defaults = {name: pytest.approx(parameter.default) for name, parameter in signature.items()}
    assert {name: value for p, name, value in documented() if p == plugin} == defaults
