"""The first worlds of each class have the bits of the stored score cards, or another version."""

import pytest

from gz_testauto import BITS_VERSION
from gz_testauto.cli.main import main
from gz_testauto.extras.standard_set.card import BITS, read_card
from gz_testauto.extras.standard_set.classes import StandardSet

STANDARD = StandardSet()
CLASSES = [name for name, scenario_class in STANDARD.classes.items() if not scenario_class.needs]
REMEDY = (
    "the bits of trials have changed; if this is intended, increase BITS_VERSION in "
    "src/gz_testauto/__init__.py, state it in CHANGELOG.md, and create the score cards again "
    "(CONTRIBUTING.md, Release)"
)


def card_of(planner):
    return read_card(STANDARD.card_path(planner), STANDARD)


@pytest.mark.slow
@pytest.mark.parametrize(("planner", "worlds"), [("fgm", 3), ("dwa", 1)])
def test_trials_of_each_class_have_the_bits_of_the_stored_card(planner, worlds, tmp_path, capsys):
    assert card_of(planner).versions[BITS] == str(BITS_VERSION), REMEDY
    options = ["--only", ",".join(CLASSES), "--worlds", str(worlds), "--out", str(tmp_path)]
    main(["benchmark", "--verify", planner, *options])
    out = capsys.readouterr().out
    compared = worlds * len(CLASSES)
    assert f"all {compared} trials have the same bits" in out, f"{REMEDY}\n{out}"
