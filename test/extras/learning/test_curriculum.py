"""From easy worlds to all."""

import shutil

import pytest
import yaml
from room import written

from gz_testauto.base.errors import ResultsError, SpecError
from gz_testauto.cli.main import main
from gz_testauto.extras.learning.episode import PreparedEnvironment

pytestmark = pytest.mark.slow


def with_curriculum(folder, **curriculum):
    return written(folder, environment={"curriculum": {"share": 0.5, "steps": 1000, **curriculum}})


def test_a_curriculum_starts_with_the_easiest_worlds_and_ends_with_all(tmp_path):
    prepared = PreparedEnvironment.of(
        with_curriculum(tmp_path, criterion="density"), tmp_path / "w"
    )
    assert [len(prepared.worlds_after(steps)) for steps in (0, 499, 501, 1000, 9999)] == [
        2,
        3,
        4,
        4,
        4,
    ]
    order = prepared.worlds_after(1000)
    densities = [prepared.campaign.worlds[index].difficulty.density for index in order]
    assert densities == sorted(densities)
    by_way = with_curriculum(tmp_path, criterion="shortest_path_m")
    order = PreparedEnvironment.of(by_way, tmp_path / "w").worlds_after(1000)
    ways = [prepared.campaign.worlds[index].shortest_path_m for index in order]
    assert ways == sorted(ways)


def test_all_worlds_are_used_without_a_curriculum(tmp_path):
    prepared = PreparedEnvironment.of(written(tmp_path), tmp_path / "w")
    assert list(prepared.worlds_after(0)) == [0, 1, 2, 3]


def test_worlds_of_unknown_difficulty_are_rejected(tmp_path, capsys):
    file = with_curriculum(tmp_path, criterion="density")
    data = yaml.safe_load(file.read_text())
    base = data["worlds"]["base"].rsplit("/", 1)
    data["worlds"] = {"directory": base[0], "files": [base[1]]}
    file.write_text(yaml.safe_dump(data))
    out = str(tmp_path / "out.npz")
    assert main(["train", str(file), "--record", "fgm", "--out", out]) == 2
    assert "environment.curriculum: the density of world room" in capsys.readouterr().err


def test_worlds_of_another_environment_are_rejected(tmp_path):
    folder = tmp_path / "worlds"
    first = PreparedEnvironment.of(written(tmp_path), folder).world_hashes
    assert PreparedEnvironment.of(written(tmp_path), folder).world_hashes == first
    rewarded = written(tmp_path, environment={"rewards": ["progress"]})
    assert PreparedEnvironment.of(rewarded, folder).world_hashes == first
    with pytest.raises(ResultsError, match="worlds of another environment"):
        PreparedEnvironment.of(written(tmp_path, seed=4), folder)
    shutil.rmtree(folder)  # worlds were removed, or the process was killed before they existed
    assert PreparedEnvironment.of(written(tmp_path, seed=4), folder).world_hashes != first
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    with pytest.raises(SpecError, match="is not empty"):
        PreparedEnvironment.of(written(tmp_path), tmp_path / "full")
