"""Episodes of a search: those in which the simulator fails are not valid."""

import pytest
from room import written

from gz_testauto.base.errors import SceneError, SimulatorError
from gz_testauto.extras.learning.episode import Episode, PreparedEnvironment
from gz_testauto.extras.learning.policies.policy import WEIGHTED
from gz_testauto.extras.learning.rollouts import Rollout, RolloutWorker, mean_reward

pytestmark = pytest.mark.slow


def test_an_episode_with_a_failing_simulator_is_repeated_and_then_omitted(tmp_path, monkeypatch):
    prepared = PreparedEnvironment.of(written(tmp_path), tmp_path / "worlds")
    start = WEIGHTED["mirrored"].start(prepared.interface().encoder.parts)
    rollout = Rollout(tuple(start.tolist()), 0, 0)
    worker = RolloutWorker("mirrored", prepared, None)
    sound = worker(rollout)
    step, failures = Episode.step, []

    def failing(episode, *actions):
        if len(failures) < most:
            failures.append(1)
            raise cause
        return step(episode, *actions)

    monkeypatch.setattr(Episode, "step", failing)
    most, cause = 1, SimulatorError("it died")
    assert worker(rollout) == sound
    failures.clear()
    most = 2
    left_out = worker(rollout)
    assert (left_out.valid, left_out.reached) == (False, False)
    assert mean_reward([sound, left_out]) == sound.reward
    with pytest.raises(SimulatorError, match="failed in all of 1 episodes"):
        mean_reward([left_out])
    failures.clear()
    cause = SceneError("crate_1 flew 12 m")
    assert not worker(rollout).valid and len(failures) == 1  # it would end the same again
    worker.close()
