"""Stable-Baselines3 on an environment as it is, and what it saved as a planner."""

import numpy as np
import pytest
from room import written

pytest.importorskip("gymnasium", reason="needs gymnasium: pip install 'gz_testauto[learning]'")
pytest.importorskip(
    "stable_baselines3", reason="needs Stable-Baselines3: pip install 'gz_testauto[train]'"
)

from gymnasium import Wrapper
from gymnasium.spaces import Box
from stable_baselines3 import PPO
from stable_baselines3.common.env_checker import check_env

from gz_testauto.base.errors import SpecError
from gz_testauto.cli.main import main
from gz_testauto.extras.learning.navigation import NavigationEnv
from gz_testauto.extras.learning.policies.files import read_policy
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore

pytestmark = pytest.mark.slow


class ActionsOf(Wrapper):
    """An environment with other actions."""

    def __init__(self, environment, space):
        super().__init__(environment)
        self.action_space = space


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    folder = tmp_path_factory.mktemp("environment")
    made = NavigationEnv(written(folder), folder / "worlds")
    yield made
    made.close()


@pytest.fixture(scope="module")
def trained(environment, tmp_path_factory):
    """A short PPO, saved with its card."""
    file = tmp_path_factory.mktemp("policy") / "ppo.zip"
    model = PPO("MlpPolicy", environment, n_steps=128, device="cpu", seed=1)
    model.learn(256).save(file)
    card = environment.prepared.card("PPO", seed=1, steps=256)
    (file.parent / "ppo.zip.json").write_text(card.model_dump_json())
    return model, file


def test_the_environment_passes_the_checker_of_stable_baselines(environment, recwarn):
    check_env(environment)
    assert not [one for one in recwarn if "stable_baselines3" in one.filename]


def test_a_saved_policy_reproduces_its_episode_bit_by_bit(environment, trained, tmp_path, capsys):
    model, file = trained
    shown, _ = environment.reset(options={"world": 2, "repetition": 0})
    ended = False
    while not ended:
        action, _ = model.predict(shown, deterministic=True)
        shown, _, terminated, truncated, info = environment.step(action)
        ended = terminated or truncated
    episode = environment._episode
    recorded = episode.result(episode.agents[0]).recording
    parameters = {"file": str(file), "allow_training_worlds": True}
    learned = {"plugin": "policy", "parameters": parameters}
    planners = [{"name": "learned", **learned}]
    campaign = written(tmp_path, environment=None, planners=planners, simulator="embedded")
    out = tmp_path / "out"
    assert main(["run", str(campaign), "--out", str(out)]) == 0
    with ResultStore.read(CampaignDirectory(out)) as store:
        (found,) = [one for one in store.results().trials if one.world_index == 2]
        assert found.outcome.value == info["outcome"]
        assert np.array_equal(store.trajectory(found).pose, recorded.pose)
    capsys.readouterr()
    assert main(["replay", str(out), "2", "learned"]) == 2
    message = (
        f"run programs:\n  policy {file}, which is read with pickle\nno trial was run; use --trust"
    )
    assert message in capsys.readouterr().err
    assert main(["replay", str(out), "2", "learned", "--trust"]) == 0
    assert "identical to the stored trial" in capsys.readouterr().out


def test_a_card_with_another_algorithm_or_observation_is_rejected(environment, trained, tmp_path):
    _, file = trained
    here = tmp_path / "ppo.zip"
    here.write_bytes(file.read_bytes())
    card = environment.prepared.card("PPQ")
    (tmp_path / "ppo.zip.json").write_text(card.model_dump_json())
    with pytest.raises(SpecError, match="has no algorithm 'PPQ'"):
        read_policy(here)
    fewer = card.model_copy(update={"kind": "PPO", "observations": [{"term": "twist"}]})
    (tmp_path / "ppo.zip.json").write_text(fewer.model_dump_json())
    with pytest.raises(SpecError, match=r"shape \(12,\), .* \(2,\)"):
        read_policy(here)
    (tmp_path / "ppo.zip.json").write_text(
        card.model_copy(update={"kind": "PPO"}).model_dump_json()
    )
    told = Box(-2.0, 2.0, (2,), np.float32)
    PPO("MlpPolicy", ActionsOf(environment, told), n_steps=2, batch_size=2, device="cpu").save(here)
    with pytest.raises(SpecError, match=r"ppo\.zip: .* Box\(-2\.0, 2\.0, .*2 numbers from -1 to 1"):
        read_policy(here)
    here.write_bytes(b"cut off")
    with pytest.raises(SpecError, match=r"ppo\.zip: PPO .* cannot read the file"):
        read_policy(here)
