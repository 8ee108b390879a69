"""Several robots as agents of PettingZoo."""

import numpy as np
import pytest
from room import written

pytest.importorskip("pettingzoo", reason="needs pettingzoo: pip install 'gz_testauto[learning]'")

from pettingzoo.test import parallel_api_test, parallel_seed_test

from gz_testauto.base.errors import SpecError
from gz_testauto.extras.learning.parallel import ParallelNavigationEnv

pytestmark = pytest.mark.slow

OTHER = {
    "name": "other",
    "start": {"x_m": 3.0, "y_m": 0.4, "yaw_rad": 3.14159},
    "goal": {"x_m": -3.0, "y_m": 0.4},
}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return written(tmp_path_factory.mktemp("parallel"), robots=[OTHER])


@pytest.mark.timeout(200)
def test_the_parallel_environment_passes_the_api_test_of_pettingzoo(file):
    environment = ParallelNavigationEnv(file)
    try:
        parallel_api_test(environment, num_cycles=60)
    finally:
        environment.close()
    parallel_seed_test(lambda: ParallelNavigationEnv(file), num_cycles=20)


def test_a_finished_robot_remains_at_rest_until_all_have_finished(file):
    environment = ParallelNavigationEnv(file)
    shown, infos = environment.reset(options={"world": 0, "repetition": 0})
    assert set(shown) == set(infos) == {"robot", "other"} == set(environment.agents)
    ended = {}
    while environment.agents:
        actions = {"robot": np.array([1.0, 0.0]), "other": np.array([-1.0, 0.0])}
        _, rewards, terminated, truncated, infos = environment.step(
            {name: actions[name] for name in environment.agents}
        )
        for name in rewards:
            if terminated[name] or truncated[name]:
                ended[name] = (infos[name]["outcome"], terminated[name], infos[name]["time_s"])
    environment.close()
    assert set(ended) == {"robot", "other"}
    assert ended["other"][:2] == ("stuck", False)
    assert ended["robot"][0] in ("reached", "collided", "stuck")


def test_a_step_without_an_action_for_each_agent_is_rejected(file):
    environment = ParallelNavigationEnv(file)
    environment.reset(seed=1)
    with pytest.raises(ValueError, match="do not contain the agents other"):
        environment.step({"robot": np.zeros(2)})
    environment.close()


def test_a_parallel_environment_requires_several_robots(tmp_path):
    with pytest.raises(SpecError, match="only one robot"):
        ParallelNavigationEnv(written(tmp_path))
