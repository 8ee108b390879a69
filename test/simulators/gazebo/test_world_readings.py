"""Generated worlds are read as gzserver reads them; ``benchmarks/world_readings.py`` runs more."""

import pytest
from world_readings import differences

pytestmark = pytest.mark.gazebo


@pytest.mark.parametrize("seed", [1, 3, 6])
def test_generated_world_is_read_as_in_gazebo(tmp_path, seed):
    assert differences(seed, tmp_path) == []


def test_expanded_world_is_read_as_the_original(tmp_path):
    assert differences(47, tmp_path, expand=True) == []
