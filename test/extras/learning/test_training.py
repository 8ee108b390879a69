"""Training by PPO: an identical policy after each interruption, and rejected input."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import yaml
from room import written

from gz_testauto.cli.main import main
from gz_testauto.extras.learning.policies.files import read_policy
from gz_testauto.results.directory import CampaignDirectory

pytestmark = pytest.mark.slow

WITHOUT = "needs Stable-Baselines3: pip install 'gz_testauto[train]'"
PPO = {"steps": 300, "n_steps": 128, "hidden": [16, 8]}
OBSERVATIONS = [{"term": "lidar", "beams": 8}, "plan"]


def small(folder, ppo=PPO, **changes):
    environment = {"observations": OBSERVATIONS, "ppo": ppo}
    environment.update(changes.pop("environment", {}))
    return written(folder, environment=environment, **changes)


def train(file, out, *options):
    return main(["train", str(file), "--out", str(out), *options])


def entries(out):
    return [json.loads(line) for line in (out / "iterations.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    pytest.importorskip("stable_baselines3", reason=WITHOUT)
    folder = tmp_path_factory.mktemp("trained")
    file = small(folder)
    assert train(file, folder / "one") == 0
    return file, folder / "one"


def test_the_same_seed_gives_an_identical_policy_file(trained, tmp_path):
    file, one = trained
    assert train(file, tmp_path / "same") == 0
    assert train(file, tmp_path / "other", "--seed", "1") == 0
    policy = (one / "policy.npz").read_bytes()
    assert (tmp_path / "same" / "policy.npz").read_bytes() == policy
    assert (tmp_path / "other" / "policy.npz").read_bytes() != policy


def test_a_killed_training_continues_to_an_identical_policy_file(trained, tmp_path, capsys):
    file, one = trained
    out = tmp_path / "killed"
    command = [sys.executable, "-m", "gz_testauto.cli.main", "train", str(file), "--out", str(out)]
    with subprocess.Popen(command) as process:
        limit = time.monotonic() + 120
        while not (out / "checkpoint.pt").exists() and time.monotonic() < limit:
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
    capsys.readouterr()
    assert train(file, out) == 0
    assert "continues after iteration" in capsys.readouterr().err
    for name in ("policy.npz", "iterations.jsonl"):
        assert (out / name).read_bytes() == (one / name).read_bytes()


def test_an_iteration_without_a_checkpoint_runs_again(trained, tmp_path):
    file, one = trained
    out = tmp_path / "cut"
    assert train(small(tmp_path, {**PPO, "steps": 128}), tmp_path / "first") == 0
    shutil.copytree(one, out)
    shutil.copy(tmp_path / "first" / "checkpoint.pt", out)  # killed before the second checkpoint
    assert train(file, out) == 0
    for name in ("policy.npz", "iterations.jsonl"):
        assert (out / name).read_bytes() == (one / name).read_bytes()


def test_the_policy_acts_as_the_trained_network(trained):
    import torch

    _, one = trained
    policy, card = read_policy(one / "policy.npz")
    state = torch.load(one / "checkpoint.pt", weights_only=True)["state"]["policy"]
    shown = np.random.default_rng(0).uniform(-1.0, 1.0, 12).astype(np.float32)
    numbers = torch.from_numpy(shown)
    for layer in ("mlp_extractor.policy_net.0", "mlp_extractor.policy_net.2"):
        numbers = torch.tanh(state[f"{layer}.weight"] @ numbers + state[f"{layer}.bias"])
    numbers = state["action_net.weight"] @ numbers + state["action_net.bias"]
    assert policy.act(shown) == pytest.approx(numbers.clamp(-1.0, 1.0).numpy(), abs=1e-5)
    assert card.hidden == [16, 8]


def test_the_card_of_a_policy_describes_its_training(trained):
    _, card = read_policy(trained[1] / "policy.npz")
    assert (card.kind, card.training.environment, card.training.seed) == ("network", "small", 0)
    assert card.training.steps == 384  # three iterations
    assert len(card.training.worlds) == 4
    assert card.terms == (("lidar", {"beams": 8}), ("plan", {}))
    assert [entry["steps"] for entry in entries(trained[1])] == [128, 256, 384]


def test_a_policy_is_trained_further_in_another_environment(trained, tmp_path, capsys):
    _, one = trained
    file = small(tmp_path, {**PPO, "steps": 128, "log_std": -1.0}, seed=9, name="other")
    assert train(file, tmp_path / "out", "--start", str(one)) == 0
    _, card = read_policy(tmp_path / "out" / "policy.npz")
    assert (card.training.environment, card.training.steps) == ("other", 512)
    assert len(card.training.worlds) == 8
    assert train(file, tmp_path / "out") == 2
    assert "start is null, was " in capsys.readouterr().err
    smaller = small(tmp_path, {**PPO, "hidden": [4]})
    assert train(smaller, tmp_path / "smaller", "--start", str(one)) == 2
    assert "other observations or another network" in capsys.readouterr().err
    assert train(file, tmp_path / "missing", "--start", str(tmp_path)) == 2
    assert "policy.npz: the policy file was not found" in capsys.readouterr().err


def test_a_second_training_in_one_directory_is_rejected(trained, capsys):
    file, one = trained
    with CampaignDirectory(one).locked():
        assert train(file, one) == 2
    assert "another process" in capsys.readouterr().err


def test_a_damaged_checkpoint_is_rejected(trained, tmp_path, capsys):
    file, one = trained
    shutil.copytree(one, tmp_path / "damaged")
    (tmp_path / "damaged" / "checkpoint.pt").write_bytes(b"PK")
    assert train(file, tmp_path / "damaged") == 2
    assert "checkpoint.pt: the file is damaged" in capsys.readouterr().err


def test_a_training_with_another_seed_in_the_same_directory_is_rejected(trained, capsys):
    file, one = trained
    assert train(file, one, "--seed", "1") == 2
    assert "seed is 1, was 0" in capsys.readouterr().err


def test_files_of_a_killed_training_in_the_output_directory_are_accepted(trained, tmp_path, capsys):
    file, one = trained
    (tmp_path / "thesis.tex").touch()
    assert train(file, tmp_path) == 2
    assert "thesis.tex" in capsys.readouterr().err
    out = tmp_path / "out"
    shutil.copytree(one / "worlds", out / "worlds")  # killed before training.json
    shutil.copy(one / "worlds.environment.json", out)
    (out / ".worlds.k1l2ed").mkdir()
    assert train(file, out) == 0
    assert not (out / ".worlds.k1l2ed").exists()


def test_a_policy_in_its_training_worlds_is_rejected_unless_allowed(trained, tmp_path, capsys):
    file, one = trained
    data = yaml.safe_load(file.read_text())
    del data["environment"]
    parameters = {"file": str(one / "policy.npz")}
    data["planners"] = [{"name": "learned", "plugin": "policy", "parameters": parameters}]
    data["simulator"] = "embedded"
    judged = tmp_path / "judged.yaml"
    judged.write_text(yaml.safe_dump(data))
    assert main(["run", str(judged), "--out", str(tmp_path / "out")]) == 2
    assert "planner 'learned' was trained in" in capsys.readouterr().err
    parameters["allow_training_worlds"] = True
    judged.write_text(yaml.safe_dump(data))
    assert main(["run", str(judged), "--out", str(tmp_path / "out2"), "--workers", "1"]) == 0
    manifest = json.loads((tmp_path / "out2" / "manifest.json").read_text())
    assert "planner learned/file.npz" in manifest["inputs"]
    told = manifest["inputs"]["planner learned"]
    assert told.startswith("trained in small, 4 worlds (SHA-256 of their hashes ")
    assert "seed 0, " in told


def test_two_robots_learn_one_policy(trained, tmp_path):
    other = {
        "name": "other",
        "start": {"x_m": 3.0, "y_m": 0.0, "yaw_rad": 3.14159},
        "goal": {"x_m": -3.0, "y_m": 0.0},
    }
    assert train(small(tmp_path, robots=[other]), tmp_path / "two") == 0
    assert [entry["steps"] for entry in entries(tmp_path / "two")] == [256, 512]
    alone = small(tmp_path, robots=[{**other, "planner": "fgm"}])
    assert train(alone, tmp_path / "alone") == 0
    assert [entry["steps"] for entry in entries(tmp_path / "alone")] == [128, 256, 384]


def test_an_episode_with_a_failing_simulator_is_truncated(trained, tmp_path, monkeypatch):
    from gz_testauto.base.errors import SimulatorError
    from gz_testauto.extras.learning.episode import Episode, PreparedEnvironment
    from gz_testauto.extras.learning.training import MOST_FAILURES, LearnersEnv

    environment = LearnersEnv(PreparedEnvironment.of(trained[0], tmp_path / "worlds"))
    environment.seed(0)
    environment.reset()
    step = Episode.step

    def fail(episode, *actions):
        raise SimulatorError("it died")

    monkeypatch.setattr(Episode, "step", fail)
    for _ in range(MOST_FAILURES - 1):
        _, rewards, dones, infos = environment.step(np.zeros((1, 2)))
        assert (rewards[0], dones[0], infos[0]["TimeLimit.truncated"]) == (0.0, True, True)
    with pytest.raises(SimulatorError, match="in 10 successive episodes"):
        environment.step(np.zeros((1, 2)))
    monkeypatch.setattr(Episode, "step", step)
    environment.reset()
    assert not environment.step(np.zeros((1, 2)))[2][0]
    assert not environment.outcomes
    environment.close()


def test_training_without_stable_baselines_names_the_remedy(tmp_path):
    code = (
        "import sys; sys.modules['stable_baselines3'] = None\n"
        "from gz_testauto.cli.main import main\n"
        f"sys.exit(main(['train', {str(small(tmp_path))!r}, '--out', 'out']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=tmp_path
    )
    assert done.returncode == 2
    assert "training needs Stable-Baselines3" in done.stderr or "PyTorch" in done.stderr
    assert "pip install" in done.stderr and "[train]" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--worlds", "3"), "--worlds needs the option --record"),
        (("--clone", "x.npz"), "--clone needs the option --record"),
        (("--record", "fgm", "--seed", "1"), "--seed cannot be used with the option --record"),
    ],
)
def test_invalid_options_of_train_are_rejected(tmp_path, capsys, options, says):
    assert train(small(tmp_path), tmp_path / "out", *options) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({"observations": ["sonar"]}, "environment.observations"),
        ({"observations": [{"term": "lidar", "beams": 0}]}, "observation 'lidar': beams is 0"),
        ({"observations": ["lidar", "plan", "objects"]}, "objects needs the key 'tracking'"),
        (
            {"observations": [{"term": "lidar", "ahead_s": 0.8}, "plan"]},
            "observation 'lidar': ahead_s is 0.8",
        ),
        (
            {"observations": [{"term": "lidar", "ahead_s": [-0.8]}, "plan"]},
            r"observation 'lidar': ahead_s is [-0.8]",
        ),
        ({"rewards": [{"term": "speed"}]}, "unknown reward 'speed'"),
        (
            {"terminations": [{"term": "off_plan", "limit": 2}]},
            "parameter of termination 'off_plan'",
        ),
        ({"reward": []}, "yaml:3: environment: unknown key 'reward'; did you mean 'rewards'?"),
        ({"ppo": {"n_step": 8}}, "unknown key 'n_step'; did you mean 'n_steps'?"),
        ({"ppo": {"gamma": 1.5}}, "environment.ppo.gamma is 1.5"),
    ],
)
def test_unknown_terms_and_invalid_parameters_are_rejected(tmp_path, capsys, environment, says):
    file = str(written(tmp_path, environment=environment))
    out = str(tmp_path / "out.npz")
    assert main(["train", file, "--record", "fgm", "--out", out]) == 2
    assert says in capsys.readouterr().err
