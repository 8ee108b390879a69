"""The shipped set has eight classes whose worlds do not change."""

from pathlib import Path

import pytest

from gz_testauto.base.resources import share_directory
from gz_testauto.campaign.world_source import gather_worlds
from gz_testauto.extras.standard_set.classes import StandardSet
from gz_testauto.results.comparability import file_sha256
from gz_testauto.trial.testbed import read_body

STANDARD = StandardSet()
GENERATED = [name for name, one in STANDARD.classes.items() if not one.needs]


def test_set_has_eight_classes_of_a_hundred_worlds_and_fifty_of_barn():
    names = ["open_field", "clutter", "narrow_gaps", "rooms", "crossing", "crowd", "road"]
    assert names == GENERATED
    counts = {name: len(one.worlds) for name, one in STANDARD.classes.items()}
    assert counts == {
        **dict.fromkeys(
            ["open_field", "clutter", "narrow_gaps", "rooms", "crossing", "crowd", "road"], 100
        ),
        "barn": 50,
    }
    for name, one in STANDARD.classes.items():
        assert len(set(one.worlds.values())) == counts[name], name


@pytest.mark.parametrize("name", GENERATED)
def test_worlds_of_a_class_have_the_published_hashes(name, tmp_path):
    if name == "narrow_gaps":
        pytest.importorskip("gz_testauto.extras.obstacle_kinds")
    spec = STANDARD.load(name)
    few = spec.model_copy(update={"worlds": spec.worlds.model_copy(update={"count": 2})})
    worlds = gather_worlds(few, read_body(few), tmp_path)
    expected = list(STANDARD.classes[name].worlds.items())[:2]
    assert [(one.name, one.sha256) for one in worlds] == expected
    assert all(one.shortest_path_m is not None for one in worlds)


def test_class_of_barn_is_the_campaign_of_the_benchmark():
    path = STANDARD.path("barn").resolve()
    assert path == share_directory() / "config" / "benchmarks" / "barn.yaml"
    assert file_sha256(path) == STANDARD.classes["barn"].sha256
    text = path.read_text(encoding="utf-8")
    assert all(f"{world}.world" in text for world in STANDARD.classes["barn"].worlds)


def test_campaign_files_name_the_class_and_its_command():
    for name in GENERATED:
        text = Path(STANDARD.path(name)).read_text(encoding="utf-8")
        assert f"name: {name}\n" in text and f"--only {name} " in text
