"""Worlds of an earlier run, and the source that a campaign's worlds have."""

import pytest

from gz_testauto.base.errors import ResultsError
from gz_testauto.spec.missions import Missions
from gz_testauto.worlds.manifest import read_worlds
from gz_testauto.worlds.multiply import multiply
from gz_testauto.worlds.source import made_worlds, missions_of, world_source


def test_worlds_of_an_earlier_run_are_read(smoke, tmp_path):
    folder = tmp_path / "worlds"
    multiply(
        smoke.worlds.base,
        smoke.worlds.obstacles.model_copy(update={"solvable": None, "keep_out": []}),
        2,
        5,
        folder,
    )
    assert made_worlds(folder) == read_worlds(folder)
    assert len(made_worlds(folder).worlds) == 2


@pytest.mark.parametrize("text", ["{", "[]", '{"schema_version": 99}'])
def test_damaged_worlds_are_a_fault_of_the_results(tmp_path, text):
    (tmp_path / "worlds.json").write_text(text)
    with pytest.raises(ResultsError, match=str(tmp_path)):
        made_worlds(tmp_path)


def test_no_worlds_are_a_fault_of_the_results(tmp_path):
    with pytest.raises(ResultsError, match="none"):
        made_worlds(tmp_path / "none")


def test_a_base_world_has_no_source_and_the_missions_of_the_campaign(smoke, tmp_path):
    assert world_source(smoke) is None
    found, own = missions_of(smoke, tmp_path), Missions(smoke)
    assert found.start_in("world_0000") == own.start_in("world_0000")
    assert found.goals_in("world_0000") == own.goals_in("world_0000")
