"""A metric of another package, from its declaration to every place where results are shown."""

import csv
import io
import json

import pytest
from rich.console import Console

from gz_testauto.analysis.overview import analyze
from gz_testauto.base.errors import SpecError
from gz_testauto.metrics.interface import METRICS, Metric, installed_metrics
from gz_testauto.report.export import to_csv, to_json
from gz_testauto.report.table import print_report
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore

MODULE = """
from gz_testauto.metrics.interface import metric

@metric(
    heading="swerves",
    unit="1/m",
    decimals=1,
    better="lower",
    completed_only=True,
    in_table=True,
    in_comparison=True,
    description="changes of turning side per meter",
)
def swerves_per_m(recording, context):
    return 2.5

METRICS = {"swerves_per_m": swerves_per_m}
"""


def ros_package(folder, monkeypatch):
    pytest.importorskip("rospkg", reason="ROS package exports need rospkg")
    package = folder / "ros" / "swerving"
    package.mkdir(parents=True)
    (package / "package.xml").write_text(
        '<package format="3"><name>swerving</name><version>1.0.0</version>'
        "<description>d</description><maintainer email='a@b.cc'>m</maintainer>"
        "<license>BSD</license><depend>gz_testauto</depend>"
        '<export><gz_testauto metrics="swerving_of_ros:METRICS"/></export></package>'
    )
    (folder / "swerving_of_ros.py").write_text(MODULE)
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(folder / "ros"))


def pip_package(folder, monkeypatch):
    information = folder / "swerving-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: swerving\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(
        "[gz_testauto.metrics]\nswerves_per_m = swerving_of_pip:swerves_per_m\n"
    )
    (folder / "swerving_of_pip.py").write_text(MODULE)


@pytest.fixture(params=[ros_package, pip_package], ids=["ROS package", "pip package"])
def finished(request, tmp_path, run):
    """The directory of a campaign that was run where the plugin is installed, and then is not."""
    with pytest.MonkeyPatch.context() as patch:
        request.param(tmp_path, patch)
        patch.syspath_prepend(str(tmp_path))
        patch.setattr(METRICS, "_discovered", False)
        patch.setattr(METRICS, "_loaders", dict(METRICS._loaders))
        assert "swerves_per_m" in [metric.name for metric in installed_metrics()]
        run(out=tmp_path / "out")
    assert "swerves_per_m" not in METRICS.names()
    return CampaignDirectory(tmp_path / "out")


def test_a_metric_of_a_plugin_is_in_all_outputs_even_if_it_is_not_installed(
    finished,
):
    with ResultStore.read(finished) as store:
        results = store.results()
    analysis = analyze(results)
    stream = io.StringIO()
    print_report(analysis, Console(file=stream, width=80, highlight=False))
    lines = stream.getvalue().splitlines()
    heading = lines.index("         swerves")
    assert [line.split() for line in lines[heading + 1 : heading + 4]] == [
        ["mean", "of", "1/m", "↓"],
        ["straight", "2.5", "(2)"],
        ["fgm", "2.5", "(2)"],
    ]
    (row,) = [line for line in lines if line.startswith("↓ swerves 1/m")]
    assert row.split()[1:8] == ["swerves", "1/m", "2", "2.5", "2.5", "median", "+0.0"]
    assert max(map(len, lines)) <= 80
    (pair,) = analysis.comparisons.pairs
    (found,) = [metric for metric in pair.metrics if metric.name == "swerves_per_m"]
    assert (found.worlds, found.p_adjusted) == (2, 1.0)
    rows = list(csv.DictReader(io.StringIO(to_csv(results))))
    assert [row["swerves_per_m"] for row in rows] == ["2.5"] * 4
    declared = json.loads(to_json(analysis))["metrics"]["swerves_per_m"]
    assert (declared["heading"], declared["unit"], declared["better"]) == (
        "swerves",
        "1/m",
        "lower",
    )


def test_a_metric_is_declared_by_keyword():
    with pytest.raises(SpecError, match=r"metric 'swerves': Metric accepts only keyword arguments"):
        Metric("swerves", "", "lower", True, lambda recording, context: 0.0, "changes", 0)


@pytest.mark.parametrize(
    ("plugin", "complaint"),
    [
        (abs, "metric 'theirs': .*compute"),
        (
            Metric(
                name="other",
                better="lower",
                completed_only=True,
                description="d",
                compute=lambda recording, context: 0.0,
            ),
            "metric 'theirs': .*'other'",
        ),
    ],
)
def test_a_plugin_that_is_not_a_metric_of_its_name_is_rejected(monkeypatch, plugin, complaint):
    monkeypatch.setattr(METRICS, "_loaders", dict(METRICS._loaders))
    METRICS.register("theirs", plugin)
    with pytest.raises(SpecError, match=complaint):
        installed_metrics()


@pytest.mark.parametrize("wrong", [{"better": "more"}, {"decimals": -1}, {"decimals": 10}])
def test_an_invalid_declaration_is_rejected(wrong):
    values = {"name": "x", "better": "lower", "completed_only": True, "description": "d", **wrong}
    with pytest.raises(SpecError, match="metric x: "):
        Metric(**values)
