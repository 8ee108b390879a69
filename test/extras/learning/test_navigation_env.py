"""A campaign as an environment of Gymnasium."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from room import following, written

pytest.importorskip("gymnasium", reason="needs gymnasium: pip install 'gz_testauto[learning]'")

import gymnasium
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

from gz_testauto.base.errors import SpecError
from gz_testauto.cli.main import main
from gz_testauto.extras.learning.episode import MOST_REPETITIONS
from gz_testauto.extras.learning.navigation import ID, NavigationEnv
from gz_testauto.extras.learning.policies.files import PolicyCard, write_policy
from gz_testauto.extras.learning.policies.policy import LinearPolicy
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore

pytestmark = pytest.mark.slow

WALKER = {"name": "walker", "behavior": "patrol", "waypoints_m": [[2.0, -2.0], [2.0, 2.0]]}
NOISE = {"name": "noise", "term": "scan_noise", "set": 0.02}


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    folder = tmp_path_factory.mktemp("environment")
    made = NavigationEnv(written(folder), folder / "worlds")
    yield made
    made.close()


def test_the_environment_passes_the_environment_checker_of_gymnasium(environment):
    check_env(environment, skip_render_check=True)


def test_registered_environment_passes_gymnasiums_checker_without_warnings(tmp_path):
    environment = gymnasium.make(
        f"gz_testauto.extras.learning.navigation:{ID}", environment=str(written(tmp_path))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(environment.unwrapped, skip_render_check=True)
    assert environment.spec.id == "gz_testauto/Navigation-v0"
    environment.close()


def test_module_name_in_the_id_imports_and_registers_the_environment():
    code = (
        "import gymnasium, sys; assert not any('gz_testauto' in name for name in sys.modules); "
        "gymnasium.make('gz_testauto.extras.learning.navigation:gz_testauto/Navigation-v0', "
        "environment='none.yaml')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert "none.yaml" in done.stderr.splitlines()[-1]
    assert "SpecError" in done.stderr


def test_the_same_seed_gives_an_identical_episode(environment):
    def first_steps(seed):
        shown, info = environment.reset(seed=seed)
        steps = [environment.step(np.array([0.5, 0.1], dtype=np.float32)) for _ in range(5)]
        return [shown, *(step[0] for step in steps)], info["world"], info["repetition"]

    shown, world, repetition = first_steps(5)
    again, same_world, same_repetition = first_steps(5)
    assert (world, repetition) == (same_world, same_repetition)
    assert np.array_equal(shown, again)
    assert first_steps(6)[1:] != (world, repetition)


def test_the_info_of_the_last_step_has_the_outcome(environment):
    environment.reset(options={"world": 0, "repetition": 0})
    ended, rewards = False, []
    while not ended:
        _, reward, terminated, truncated, info = environment.step(np.array([1.0, 0.0]))
        rewards.append(reward)
        ended = terminated or truncated
    assert info["outcome"] in ("reached", "collided")
    assert terminated and not truncated
    assert info["metrics"]["time_s"] == pytest.approx(info["time_s"])
    assert max(np.abs(rewards[:-1])) < 1.0
    assert abs(rewards[-1]) > 9.0
    with pytest.raises(ResetNeeded):
        environment.step(np.zeros(2))


def test_an_episode_is_truncated_when_the_robot_is_stuck(environment):
    environment.reset(options={"world": 1})
    for _ in range(19):
        assert not any(environment.step(np.array([-1.0, 0.0]))[2:4])
    for _ in range(3):
        _, _, terminated, truncated, info = environment.step(np.array([-1.0, 0.0]))
        if truncated:
            break
    assert (terminated, truncated, info["outcome"]) == (False, True, "stuck")


@pytest.mark.parametrize(
    ("action", "says"),
    [
        ([np.nan, 0.0], "must be finite"),
        ([0.0, np.inf], "must be finite"),
        ([0.0, 0.0, 0.0], r"has shape \(3,\)"),
    ],
)
def test_an_invalid_action_is_rejected(environment, action, says):
    environment.reset(seed=0)
    with pytest.raises(ValueError, match=says):
        environment.step(np.array(action))


def test_last_repetition_that_can_be_drawn_has_random_numbers(tmp_path):
    made = NavigationEnv(written(tmp_path, actors=[WALKER]), tmp_path / "worlds")
    made.reset(seed=1, options={"world": 0, "repetition": MOST_REPETITIONS - 1})
    _, _, terminated, truncated, _ = made.step(np.zeros(2, np.float32))
    made.close()
    assert not terminated and not truncated


def test_reset_with_an_unknown_world_is_rejected(environment):
    with pytest.raises(SpecError, match=r"world is 4; it must be from 0 to 3"):
        environment.reset(options={"world": 4})


def test_an_episode_and_its_trial_are_identical_bit_by_bit(tmp_path):
    """The campaign has a walker, noise, several goals, and a policy of random weights."""
    via = {"x_m": 3.0, "y_m": 0.0, "via": [{"x_m": 0.0, "y_m": 2.0}]}
    more = {"actors": [WALKER], "randomize": [NOISE], "goal": via, "repetitions": 2}
    learned = {"plugin": "policy", "parameters": {"file": "./policy.npz"}}
    environment = NavigationEnv(written(tmp_path, **more), tmp_path / "worlds")
    card = PolicyCard(kind="linear", observations=[{"term": "lidar", "beams": 8}, {"term": "plan"}])
    weights = following(card.terms)
    weights += 0.3 * np.random.default_rng(1).standard_normal(len(weights))
    policy = LinearPolicy(weights, 12)
    write_policy(tmp_path / "policy.npz", policy, card)
    driven = {}
    for world in range(4):
        for repetition in range(2):
            shown, info = environment.reset(options={"world": world, "repetition": repetition})
            ended = False
            while not ended:
                shown, _, terminated, truncated, info = environment.step(policy.act(shown))
                ended = terminated or truncated
            episode = environment._episode
            result = episode.result(episode.agents[0])
            driven[world, repetition] = (info["outcome"], result.recording)
    environment.close()
    file = written(
        tmp_path,
        **more,
        environment=None,
        planners=[{"name": "learned", **learned}],
        simulator="embedded",
    )
    out = tmp_path / "out"
    assert main(["run", str(file), "--out", str(out), "--workers", "1"]) == 0
    with ResultStore.read(CampaignDirectory(out)) as store:
        for record in store.results().trials:
            outcome, recording = driven[record.world_index, record.repetition]
            assert record.outcome.value == outcome
            trial = store.trajectory(record)
            for name in ("time_s", "pose", "twist", "command", "clearance_m"):
                assert np.array_equal(
                    getattr(trial, name), getattr(recording, name), equal_nan=True
                ), name
            walked = [found.series["actor_walker"] for found in (trial, recording)]
            assert np.array_equal(*walked)
