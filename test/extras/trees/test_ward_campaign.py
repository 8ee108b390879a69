"""The campaign with effects, a behavior tree, a door, a crowd and two robots in YAML alone."""

import numpy as np
import pytest
import yaml
from finished import results

from gz_testauto.analysis.repeatability import compare_recordings
from gz_testauto.base.resources import share_directory
from gz_testauto.cli.main import main

WARD = share_directory() / "config" / "trees" / "ward_campaign.yaml"


def short_campaign(tmp_path, simulator):
    """Write the campaign with one world and 6 s per trial, and return its file."""
    data = yaml.safe_load(WARD.read_text())
    data["worlds"].update(count=1, base=str(share_directory() / "worlds" / "room.world"))
    nurse = next(actor for actor in data["actors"] if actor["name"] == "nurse")
    nurse["file"] = str(WARD.parent / nurse["file"])
    data.update(simulator=simulator, limits={"timeout_s": 6.0})
    file = tmp_path / "ward.yaml"
    file.write_text(yaml.safe_dump(data))
    return file


@pytest.mark.slow
@pytest.mark.parametrize(
    "simulator", ["embedded", pytest.param("gazebo", marks=pytest.mark.gazebo)]
)
def test_ward_campaign_has_the_same_bits_in_two_runs(tmp_path, simulator):
    file, found = short_campaign(tmp_path, simulator), []
    for out in ("first", "second"):
        assert main(["run", str(file), "--out", str(tmp_path / out), "--workers", "1"]) == 0
        ((record,), (recording,)) = results(tmp_path / out)
        assert record.outcome.valid
        found.append(recording)
    assert compare_recordings(*found).identical
    first, second = (one.series for one in found)
    assert all(np.array_equal(first[name], second[name], equal_nan=True) for name in first)
    effects = {name: record.metrics[f"effect_{name}_s"] for name in ("bump", "blackout")}
    assert effects["bump"] == 0.3
    assert effects["blackout"] > 0.0
    moved = [name for name in recording.series if name.startswith("actor_")]
    assert {"actor_nurse", "actor_door", "actor_visitor_2"} <= set(moved)
    assert all(
        np.ptp(recording.series[name][:, :2], axis=0).max() > 0.1
        for name in moved
        if name != "actor_door"
    )
