"""Recorded actions of planners, and policies that imitate them."""

import numpy as np
import pytest
from room import written

from gz_testauto.base.errors import SpecError
from gz_testauto.cli.main import main
from gz_testauto.extras.learning.demonstrations import Demonstrations, cloned
from gz_testauto.extras.learning.policies.files import read_policy

pytestmark = pytest.mark.slow


def test_recorded_actions_reproduce_the_trajectory_of_the_planner(tmp_path, capsys):
    """The actions of a planner's drives, given to the environment, are the same drives."""
    pytest.importorskip("gymnasium", reason="needs gymnasium: pip install 'gz_testauto[learning]'")
    from gz_testauto.extras.learning.navigation import NavigationEnv

    file, out = written(tmp_path), tmp_path / "drives.npz"
    arguments = ["train", str(file), "--record", "fgm", "--worlds", "3", "--out", str(out)]
    assert main([*arguments, "--clone", str(tmp_path / "clone.npz")]) == 0
    said = capsys.readouterr()
    found = Demonstrations.read(out)
    assert f"{len(found.actions)} control periods of 3 trials" in said.out
    environment = NavigationEnv(file, tmp_path / "drives_worlds")
    for episode in range(3):
        mine = found.episodes == episode
        shown, _ = environment.reset(options={"world": episode, "repetition": 0})
        for number, (seen, action) in enumerate(zip(found.observations[mine], found.actions[mine])):
            assert shown == pytest.approx(seen, abs=1e-6), number
            shown, _, terminated, truncated, info = environment.step(action)
        assert terminated or truncated
        assert (info["outcome"] == "reached") == found.reached[episode]
    environment.close()
    policy, card = read_policy(tmp_path / "clone.npz")
    assert card.kind == "linear"
    assert len(card.training.worlds) == 4
    assert policy.act(found.observations[0]).shape == (2,)


def test_a_linear_clone_is_the_least_squares_solution():
    random = np.random.default_rng(0)
    shown = random.uniform(-1.0, 1.0, (200, 3)).astype(np.float32)
    weights = np.array([[0.5, -0.2, 0.1], [0.0, 0.3, -0.4]])
    constant = np.array([0.1, -0.3])
    actions = np.tanh(shown.astype(float) @ weights.T + constant)
    episodes = np.repeat([0, 1], 100)
    found = Demonstrations(shown, actions, episodes, np.array([0, 1]), np.array([True, False]))
    policy = cloned(found)
    assert policy.weights.reshape(2, 4)[:, :3] == pytest.approx(weights, abs=1e-6)
    assert policy.weights.reshape(2, 4)[:, 3] == pytest.approx(constant, abs=1e-6)
    nobody = Demonstrations(shown, actions, episodes, np.array([0, 1]), np.array([False, False]))
    with pytest.raises(SpecError, match="reached its goal"):
        cloned(nobody)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--record", "fgn"), "unknown planner 'fgn'; did you mean 'fgm'?"),
        (("--record", "fgm", "--worlds", "5"), "--worlds is 5; it must be from 1 to 4"),
        (("--record", "fgm", "--parameters", "[]"), "it must be a YAML mapping"),
    ],
)
def test_invalid_options_of_record_are_rejected(tmp_path, capsys, options, says):
    out = str(tmp_path / "drives.npz")
    assert main(["train", str(written(tmp_path)), "--out", out, *options]) == 2
    assert says in capsys.readouterr().err
