"""The report states in which trials the recorded failure happened again."""

import pytest

from gz_testauto.cli.main import main
from gz_testauto.extras.field.recorded_end import section
from gz_testauto.report.sections import SECTIONS
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore

WORLD = """<sdf version="1.6"><world name="hall">
  <model name="ground"><static>true</static><link name="link"><collision name="plane">
    <geometry><plane><normal>0 0 1</normal><size>20 20</size></plane></geometry>
  </collision></link></model>
  <model name="wall"><static>true</static><pose>2 0 0.5 0 0 0</pose><link name="link">
    <collision name="box"><geometry><box><size>0.2 4 1</size></box></geometry></collision>
  </link></model>
</world></sdf>"""

CAMPAIGN = """
name: field
worlds:
  directory: .
  files:
    - {file: hall.world, name: same, recorded_end: {x_m: 1.5, y_m: 2.2, result: aborted}}
    - {file: hall.world, name: elsewhere, recorded_end: {x_m: 0.0, y_m: 3.0}}
    - {file: hall.world, name: free, goal: {x_m: 1.0, y_m: 0.0}, recorded_end: {x_m: 1.0, y_m: 0.0}}
    - {file: hall.world, name: invented}
robot:
  model: package://gz_testauto/models/jackal_sized/model.sdf
  start: {x_m: 0.0, y_m: 0.0}
  max_linear_mps: 1.0
  max_angular_radps: 1.5
goal: {x_m: 4.0, y_m: 0.0, tolerance_m: 0.3}
planners: [straight]
simulator: kinematic
limits: {timeout_s: 20}
"""


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("field")
    (folder / "hall.world").write_text(WORLD)
    (folder / "campaign.yaml").write_text(CAMPAIGN)
    main(["run", str(folder / "campaign.yaml"), "--workers", "1", "--out", str(folder / "out")])
    return folder / "out"


def section_of(out):
    with ResultStore.read(CampaignDirectory(out)) as store:
        return section(out, store.results())


def test_failure_at_the_recorded_place_has_happened_again(out):
    assert section_of(out).tables[0].rows == (
        ("same", "aborted at (1.50, 2.20) m", "straight", "1 of 1", "0", "0"),
        ("elsewhere", "failed at (0.00, 3.00) m", "straight", "0 of 1", "1", "0"),
        ("free", "failed at (1.00, 0.00) m", "straight", "0 of 1", "0", "1"),
    )


def test_run_report_and_page_contain_the_section(out, capsys):
    assert SECTIONS.get("recorded_failures") is section
    campaign = str(out.parent / "campaign.yaml")
    main(["run", campaign, "--workers", "1", "--out", str(out)])
    assert "aborted at (1.50, 2.20) m straight 1 of 1" in capsys.readouterr().out
    main(["report", str(out)])
    assert "aborted at (1.50, 2.20) m straight 1 of 1" in capsys.readouterr().out
    assert "Recorded failures" in (out / "report.html").read_text()


def test_results_without_a_recorded_end_have_no_section(out, tmp_path):
    campaign = CAMPAIGN.split("  files:")[0] + CAMPAIGN[CAMPAIGN.index("robot:") :]
    (tmp_path / "hall.world").write_text(WORLD)
    (tmp_path / "campaign.yaml").write_text(campaign)
    path = str(tmp_path / "campaign.yaml")
    main(["run", path, "--workers", "1", "--out", str(tmp_path / "out")])
    assert section_of(tmp_path / "out") is None
