"""Environments side by side."""

import numpy as np
import pytest
from room import written

pytest.importorskip("gymnasium", reason="needs gymnasium: pip install 'gz_testauto[learning]'")

from gz_testauto.base.errors import SpecError
from gz_testauto.extras.learning.navigation import NavigationEnv, vector_env

pytestmark = pytest.mark.slow

AHEAD = np.tile(np.array([1.0, 0.05], dtype=np.float32), (2, 1))


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return written(tmp_path_factory.mktemp("vector"))


@pytest.mark.timeout(120)
@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_each_environment_of_a_vector_equals_a_single_environment(file, mode):
    alone = []
    for seed in (4, 5):
        one = NavigationEnv(file)
        shown = [one.reset(seed=seed)[0]]
        for _ in range(8):
            shown.append(one.step(AHEAD[0])[0])
        alone.append(shown)
        one.close()
    both = vector_env(file, 2, mode)
    try:
        shown = [both.reset(seed=4)[0]]
        shown += [both.step(AHEAD)[0] for _ in range(8)]
        for number in range(2):
            assert np.array_equal([row[number] for row in shown], alone[number])
        ended = np.zeros(2, dtype=bool)
        while not ended.any():
            last, _, terminated, truncated, info = both.step(AHEAD)
            ended = terminated | truncated
        first = int(np.argmax(ended))
        if mode == "SameStep":
            assert "outcome" in info["final_info"]
            assert info["time_s"][first] == 0.0
        else:
            assert info["outcome"][first] in ("reached", "collided")
        if mode == "NextStep":
            assert both.step(AHEAD)[4]["time_s"][first] == 0.0
        if mode == "Disabled":
            again, info = both.reset(options={"reset_mask": ended})
            assert info["time_s"][first] == 0.0
            assert not np.array_equal(again[first], last[first])
    finally:
        both.close()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((0,), "count is 0; it must be at least 1"),
        ((1, "Never"), "autoreset is 'Never'; it must be"),
    ],
)
def test_invalid_vector_environments_are_rejected(file, arguments, says):
    with pytest.raises(SpecError, match=says):
        vector_env(file, *arguments)
