from pathlib import Path

import pytest

from gz_testauto.base.errors import SpecError
from gz_testauto.campaign.world_plugins import plugins_notice
from gz_testauto.cli.main import main
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load

SMOKE = Path(__file__).resolve().parents[2] / "config" / "smoke_campaign.yaml"
EMPTY = "<sdf version='1.6'><world name='w'>{}</world></sdf>"
PLUGIN = "<plugin name='p' filename='evil\x7f.so'/>"


def campaign(tmp_path, simulator, plugins=True):
    (tmp_path / "a.world").write_text(EMPTY.format(PLUGIN))
    (tmp_path / "b.world").write_text(EMPTY.format(PLUGIN))
    (tmp_path / "c.world").write_text(EMPTY.format(""))
    spec = load(SMOKE, CampaignSpec)
    worlds = {"base": None, "obstacles": None, "count": None, "directory": tmp_path}
    source = spec.worlds.model_copy(update={**worlds, "plugins": plugins})
    return spec.model_copy(update={"worlds": source, "simulator": simulator})


def test_plugins_that_gazebo_will_run_are_listed_before_trials(tmp_path):
    assert plugins_notice(campaign(tmp_path, "gazebo")) == (
        "the simulator will run plugins of the worlds: evil\\x7f.so (in 2 worlds); --no-plugins "
        "removes them"
    )


def test_notice_for_one_world_lists_only_the_plugins_of_that_world(tmp_path):
    spec = campaign(tmp_path, "gazebo")
    assert plugins_notice(spec, [tmp_path / "a.world"]).endswith("evil\\x7f.so (in 1 world)")
    assert plugins_notice(spec, [tmp_path / "c.world"]) == ""


@pytest.mark.slow
def test_no_notice_is_printed_if_no_plugin_will_run(tmp_path):
    assert plugins_notice(campaign(tmp_path, "embedded")) == ""
    assert plugins_notice(campaign(tmp_path, "gazebo", plugins=False)) == ""
    assert plugins_notice(load(SMOKE, CampaignSpec)) == ""


def test_simulator_that_cannot_remove_plugins_is_rejected_with_plugins_disabled(tmp_path):
    pytest.importorskip("rospy")
    with pytest.raises(SpecError, match="gz_testauto multiply --no-plugins"):
        plugins_notice(campaign(tmp_path, "gazebo_ros", plugins=False))


def test_multiplied_worlds_have_no_plugins_if_plugins_are_disabled(tmp_path, capsys):
    room = (SMOKE.parents[1] / "worlds" / "room.world").read_text()
    (tmp_path / "foreign.world").write_text(room.replace("</world>", PLUGIN + "</world>"))
    (tmp_path / "spec.yaml").write_text(
        "obstacles: [{type: box, count: 1, size_x_m: 0.5}]\n"
        "region: {rectangle: {x_m: [-3, 3], y_m: [-3, 3]}}\n"
    )
    common = ["multiply", str(tmp_path / "foreign.world"), "--spec", str(tmp_path / "spec.yaml"),
              "--count", "1", "--out", str(tmp_path / "out")]  # fmt: skip
    assert main([*common, "--no-plugins"]) == 0
    assert "plugin" not in (tmp_path / "out" / "world_0000.world").read_text()
    assert main(common) == 2
    assert "other inputs (plugins differs)" in capsys.readouterr().err
    assert main([*common, "--force"]) == 0
    assert "evil" in (tmp_path / "out" / "world_0000.world").read_text()
