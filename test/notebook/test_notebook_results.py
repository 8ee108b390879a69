"""Names of ``import gz_testauto`` for notebooks."""

import subprocess
import sys

import numpy as np
import pytest
import yaml
from PIL import Image

import gz_testauto
from gz_testauto.base.errors import ResultsError, SpecError
from gz_testauto.base.resources import share_directory
from gz_testauto.report import animation

pandas = pytest.importorskip("pandas", reason="the extra notebook is not installed")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The results of a campaign that was given as a mapping."""
    config = share_directory() / "config" / "smoke_campaign.yaml"
    campaign = yaml.safe_load(config.read_text())
    campaign["worlds"]["base"] = str(share_directory() / "worlds" / "room.world")
    out = tmp_path_factory.mktemp("results") / "first"
    return gz_testauto.run(campaign, out, simulator="kinematic", workers=1, progress=False)


def test_importing_the_package_imports_no_library():
    program = "import sys, gz_testauto; print('numpy' in sys.modules, dir(gz_testauto))"
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert done.stdout.startswith("False")
    assert all(name in done.stdout for name in gz_testauto.__all__)


def test_script_without_a_guard_runs_trials_in_processes(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import gz_testauto\n"
        "results = gz_testauto.run('smoke_campaign', 'out', simulator='kinematic', workers=2)\n"
        "print(len(results.trials), 'trials')\n"
    )
    done = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    assert done.stdout.splitlines()[-1] == "4 trials", done.stdout


def test_unknown_name_of_the_package_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        gz_testauto.no_such_name  # noqa: B018


def test_each_trial_is_a_row_with_its_metrics(results):
    table = results.trials.to_pandas()
    assert len(table) == len(results.trials) == 4
    for row, record in zip(table.itertuples(), results.trials):
        assert (row.world, row.planner, row.outcome) == (
            record.world,
            record.planner,
            record.outcome.value,
        )
        assert row.time_s == record.metrics["time_s"]


def test_trajectories_have_a_row_for_each_sample(results):
    table = results.trajectories.to_pandas()
    one = results.trajectories.of("world_0001", "fgm")
    rows = table[(table.world == "world_0001") & (table.planner == "fgm")]
    assert np.array_equal(rows[["x_m", "y_m", "yaw_rad"]].to_numpy(), one.pose)
    assert np.array_equal(rows["time_s"].to_numpy(), one.time_s)
    selected = results.trajectories.to_pandas(worlds=["1"], planners=["fgm"])
    assert len(selected) == len(rows) < len(table)


def test_comparisons_have_a_row_for_each_pair_and_metric(results):
    table = results.comparisons.to_pandas().set_index("metric")
    (pair,) = results.comparisons
    assert table.loc["success", "difference"] == pair.difference.value
    for metric in pair.metrics:
        assert table.loc[metric.name, "p"] == pytest.approx(metric.p_value, nan_ok=True)
        assert table.loc[metric.name, "worlds"] == metric.worlds


def test_results_of_two_directories_are_compared(results, tmp_path):
    copy = tmp_path / "second"
    copy.symlink_to(results.directory)
    table = gz_testauto.compare(results, gz_testauto.load(copy)).to_pandas()
    fgm = table[(table["first"] == "fgm (first)") & (table["second"] == "fgm (second)")]
    assert fgm.set_index("metric").loc["success", "difference"] == 0.0


def test_replayed_trial_is_identical(results):
    replay = results.replay("world_0000", "fgm")
    assert replay.identical
    assert replay.outcome is results.trials[1].outcome


def test_plot_is_an_image_that_notebooks_show(results, tmp_path):
    picture = results.plot("world_0000")
    assert picture._repr_png_().startswith(b"\x89PNG")
    picture.save(tmp_path / "world.png")
    assert Image.open(tmp_path / "world.png").width > 500


def test_animation_shows_the_robot_at_several_places(results, tmp_path, monkeypatch):
    monkeypatch.setattr(animation, "MOST_FRAMES", 5)
    shown = results.animate("world_0000", tmp_path / "world.gif", planners=["fgm"])
    with Image.open(shown.path) as images:
        assert images.n_frames >= 5
        first = np.asarray(images.convert("RGB"))
        images.seek(images.n_frames - 1)
        assert (np.asarray(images.convert("RGB")) != first).any()
    assert "data:image/gif" in shown._repr_html_()


@pytest.mark.parametrize("file", ["world.avi", "world"])
def test_animation_with_another_suffix_is_rejected(results, tmp_path, file):
    with pytest.raises(SpecError, match=r"\.gif, \.mp4"):
        results.animate("world_0000", tmp_path / file)


def test_unknown_names_are_rejected(results, tmp_path):
    with pytest.raises(SpecError, match="world_0009"):
        results.plot("world_0009")
    with pytest.raises(SpecError, match="teb"):
        results.trajectories.to_pandas(planners=["teb"])
    with pytest.raises(ResultsError, match="nowhere"):
        gz_testauto.load(tmp_path / "nowhere")
