"""The tables of the page are those of the stored cards, and each card is one of this version."""

from pathlib import Path

import pytest
import standard_set

from gz_testauto.extras.standard_set.card import read_card
from gz_testauto.extras.standard_set.classes import BASELINES, StandardSet

STANDARD = StandardSet(standard_set.FOLDER)
CARDS = sorted((standard_set.FOLDER / BASELINES).glob("*.json"))


def test_tables_of_the_page_agree_with_the_stored_cards():
    text = standard_set.PAGE.read_text(encoding="utf-8")
    assert standard_set.page_with(text, standard_set.tables()) == text, (
        "run ./bootstrap exec python3 benchmarks/standard_set.py page"
    )
    assert standard_set.page_with(text, "another table") != text


@pytest.mark.parametrize("path", CARDS, ids=lambda path: Path(path).stem)
def test_stored_card_has_the_worlds_of_the_set(path):
    card = read_card(path, STANDARD)
    assert card.planner.name == path.stem
    for name, one in card.classes.items():
        worlds = STANDARD.classes[name].worlds
        expected = list(worlds.items())[: len(one.trials)]
        assert [(world, trial.world_sha256) for world, trial in one.trials.items()] == expected


def test_page_lists_each_class():
    text = standard_set.PAGE.read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in text for name in STANDARD.classes)
