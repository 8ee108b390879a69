"""The campaigns for public benchmarks that the package ships, without their checkouts."""

from pathlib import Path

import pytest
import yaml

from gz_testauto.base.errors import SpecError
from gz_testauto.base.resources import share_directory
from gz_testauto.campaign.world_source import gather_worlds
from gz_testauto.planners import make_planner
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load
from gz_testauto.trial.checks import check_trials
from gz_testauto.trial.plan import PreparedCampaign
from gz_testauto.trial.testbed import bed_of, read_body

CAMPAIGNS = sorted((share_directory() / "config" / "benchmarks").glob("*.yaml"))
ROOTS = ("BARN_ROOT", "MRPB_ROOT")


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """An empty directory where each benchmark's worlds would be."""
    for name in ROOTS:
        monkeypatch.setenv(name, str(tmp_path))
    for campaign in CAMPAIGNS:
        named = yaml.safe_load(campaign.read_text())["worlds"]["directory"]
        (tmp_path / named.split(")/", 1)[1]).mkdir(parents=True, exist_ok=True)
    return tmp_path


@pytest.mark.parametrize("path", CAMPAIGNS, ids=lambda path: path.stem)
def test_every_benchmark_campaign_has_valid_planner_parameters(path, checkout):
    spec = load(path, CampaignSpec)
    assert read_body(spec).lidar.samples == 720
    for planner in spec.planners:
        make_planner(planner.plugin, **planner.parameters)


@pytest.mark.parametrize("path", CAMPAIGNS, ids=lambda path: path.stem)
def test_missing_checkout_is_reported_with_its_environment_variable(path, monkeypatch):
    for name in ROOTS:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SpecError, match=r"environment variable (BARN|MRPB)_ROOT, which is not set"):
        load(path, CampaignSpec)


def test_barn_campaign_has_the_fifty_worlds_of_the_published_report(checkout):
    spec = load(next(path for path in CAMPAIGNS if path.stem == "barn"), CampaignSpec)
    assert [entry.world for entry in spec.worlds.files] == [f"world_{6 * i}" for i in range(50)]


MOVED = (
    '<model name="easylibobs_{n}"><static>1</static><pose>-0.2 0.1 0 0 0 0</pose><link name="l">'
    '<collision name="c"><geometry><cylinder><radius>0.5</radius><length>1</length></cylinder>'
    "</geometry></collision>{sensor}</link>{plugin}</model>"
)
PLUGIN = '<plugin name="p" filename="libeasy_1.so"/>'


@pytest.mark.parametrize(
    ("plugin", "sensor", "moved"),
    [(PLUGIN, "", True), ("", "", False), ("", f'<sensor name="s">{PLUGIN}</sensor>', False)],
)
def test_world_with_static_obstacles_moved_by_a_plugin_is_rejected(
    smoke, tmp_path, plugin, sensor, moved
):
    models = "".join(MOVED.format(n=n, plugin=plugin, sensor=sensor) for n in range(3))
    (tmp_path / "w.world").write_text(f'<sdf version="1.6"><world name="w">{models}</world></sdf>')
    worlds = smoke.worlds.model_validate({"directory": Path(tmp_path)})
    spec = smoke.model_copy(update={"worlds": worlds})
    robot = read_body(spec)
    records = gather_worlds(spec, robot, tmp_path / "none")
    campaign = PreparedCampaign(bed_of(spec, robot), records)
    if not moved:
        check_trials(campaign.bed, campaign.trials)
        return
    with pytest.raises(SpecError, match=r"libeasy_1\.so.* 3 static models"):
        check_trials(campaign.bed, campaign.trials)
