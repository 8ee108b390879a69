"""Campaigns in worlds whose files have actors."""

import numpy as np
import pytest
import yaml

from gz_testauto.cli.main import main
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore

pytestmark = pytest.mark.slow

WORLD = """<sdf version="1.6"><world name="w">
<model name="ground"><static>true</static><link name="l"><collision name="c"><geometry>
<plane><normal>0 0 1</normal><size>100 100</size></plane></geometry></collision></link></model>
<actor name="walker"><script><trajectory id="0" type="walk">
<waypoint><time>0</time><pose>0 -2 0 0 0 0</pose></waypoint>
<waypoint><time>4</time><pose>0 2 0 0 0 0</pose></waypoint>
</trajectory></script></actor>
<actor name="stander"><pose>{x} 0 1 0 0 0</pose></actor>
</world></sdf>"""


def campaign(tmp_path, x, **more):
    (tmp_path / "w.world").write_text(WORLD.format(x=x))
    data = {
        "name": "actors",
        "worlds": {"directory": str(tmp_path), "files": ["w.world"]},
        "robot": {
            "model": "package://gz_testauto/models/jackal_sized/model.sdf",
            "start": {"x_m": -4, "y_m": 0},
        },
        "goal": {"x_m": 4, "y_m": 0},
        "planners": ["straight"],
        "limits": {"timeout_s": 30},
        **more,
    }
    file = tmp_path / "campaign.yaml"
    file.write_text(yaml.safe_dump(data))
    return file


@pytest.mark.parametrize(
    "simulator", ["embedded", pytest.param("gazebo", marks=pytest.mark.gazebo)]
)
def test_actor_of_a_world_file_follows_its_path_and_is_listed(tmp_path, capsys, simulator):
    file, out = campaign(tmp_path, 8.0, simulator=simulator), tmp_path / "out"
    assert main(["run", str(file), "--out", str(out), "--workers", "1"]) == 0
    assert "2 <actor> in" in "".join(capsys.readouterr())
    with ResultStore.read(CampaignDirectory(out)) as store:
        (record,) = store.results().trials
        recording = store.trajectory(record)
    walker = recording.series["actor_walker_body"]
    times = np.mod(recording.time_s, 8.0)
    expected_y = np.where(times < 4.0, times - 2.0, 6.0 - times)
    assert np.abs(walker[:, 1] - expected_y).max() < 1e-9
    assert np.abs(walker[:, 0]).max() < 1e-9


def test_robot_collides_with_an_actor_on_its_path(tmp_path):
    file, out = campaign(tmp_path, 1.0, simulator="embedded"), tmp_path / "out"
    assert main(["run", str(file), "--out", str(out), "--workers", "1"]) == 0
    with ResultStore.read(CampaignDirectory(out)) as store:
        (record,) = store.results().trials
    assert "stander_body" in record.detail
