"""A planner draws random numbers of the trial: others in each, and the same in a repeated one."""

import numpy as np
import pytest
import yaml
from finished import results

from gz_testauto.analysis.repeatability import compare_recordings
from gz_testauto.base.resources import share_directory
from gz_testauto.cli.main import main

pytestmark = pytest.mark.slow

WORLDS = 10


def campaign(tmp_path, parameters=(), **changes):
    """Write a campaign with ten equal worlds and two seconds of sst in each."""
    data = {
        "name": "seeds",
        "seed": 4,
        "simulator": "kinematic",
        "worlds": {
            "directory": str(share_directory() / "worlds"),
            "files": [
                {"file": "plain.world", "name": f"world_{number}"} for number in range(WORLDS)
            ],
        },
        "robot": {
            "model": str(share_directory() / "models" / "jackal_sized" / "model.sdf"),
            "start": {"x_m": 0.0, "y_m": 0.0},
            "max_linear_mps": 1.5,
            "max_linear_accel_mps2": 2.0,
        },
        "goal": {"x_m": 11.0, "y_m": 0.0},
        "planners": [{"name": "sst", "parameters": {"iterations": 100, **dict(parameters)}}],
        "limits": {"timeout_s": 2.0},
        **changes,
    }
    written = tmp_path / "seeds.yaml"
    written.write_text(yaml.safe_dump(data))
    return written


def driven(file, out, *options, status=0):
    """The commands of each trial."""
    assert main(["run", str(file), "--out", str(out), *options]) == status
    return [recording.command for recording in results(out)[1]]


def distinct(commands):
    """Return the number of different trajectories."""
    return len({np.nan_to_num(each).tobytes() for each in commands})


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    folder = tmp_path_factory.mktemp("seeds")
    file = campaign(folder)
    return file, driven(file, folder / "first", "--workers", "1"), folder / "first"


def test_trials_of_sst_in_ten_worlds_differ_in_their_approach(first):
    assert distinct(first[1]) == WORLDS


def test_repetitions_of_sst_in_one_world_differ(tmp_path):
    file = campaign(tmp_path, repetitions=3)
    assert distinct(driven(file, tmp_path / "out", "--worlds", "1", "--workers", "1")) == 3


def test_sst_gives_identical_trials_on_two_workers(first, tmp_path):
    file, _, out = first
    driven(file, tmp_path / "again", "--worlds", "1", "--workers", "1")
    driven(file, tmp_path / "again", "--worlds", "5", "--workers", "2")
    again = results(tmp_path / "again")[1]
    assert len(again) == 5
    for one, other in zip(results(out)[1], again):
        assert compare_recordings(one, other).identical


def test_the_seed_parameter_of_sst_changes_the_plans_of_all_trials(first, tmp_path):
    file = campaign(tmp_path, {"seed": 1})
    others = driven(file, tmp_path / "out", "--worlds", "2", "--workers", "1")
    assert distinct([*first[1], *others]) == WORLDS + 2


def test_another_campaign_seed_gives_other_plans_of_sst(first, tmp_path, capsys):
    file = first[0]
    others = driven(file, tmp_path / "out", "--seed", "5", "--worlds", "2", "--workers", "1")
    assert distinct([*first[1], *others]) == WORLDS + 2
    capsys.readouterr()
    assert main(["run", str(file), "--out", str(tmp_path / "out"), "--workers", "1"]) == 2
    assert "seed" in capsys.readouterr().err


@pytest.mark.parametrize("seed", ["-1", "1.5", "none", str(2**63)])
def test_an_invalid_seed_option_is_rejected(first, tmp_path, capsys, seed):
    try:
        status = main(["run", str(first[0]), "--out", str(tmp_path / "out"), "--seed", seed])
    except SystemExit as ended:
        status = ended.code
    assert status == 2
    message = capsys.readouterr().err
    assert "--seed" in message and seed in message
