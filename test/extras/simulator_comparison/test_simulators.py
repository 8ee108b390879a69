"""Errors in the specification of a comparison, as `gz_testauto simulators` reports them."""

import pytest

from gz_testauto.cli.main import main

BENCH = """name: small
robot: {model: package://gz_testauto/models/husky_a200}
terrains: [{name: hall, kind: flat, pixels: 17, size_m: 3}]
maneuvers: [straight]
measure_load: false
entries:
  - {name: one, simulator: kinematic}
  - {name: two, simulator: kinematic, options: {step_s: 0.002}}
reference: one
"""


@pytest.fixture
def bench(tmp_path):
    file = tmp_path / "bench.yaml"
    file.write_text(BENCH)
    return file


def test_maneuvers_that_leave_their_terrain_are_rejected_before_a_run(bench, tmp_path, capsys):
    assert main(["simulators", "compare", str(bench), "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert f"{bench}: hall/straight: " in said and "increase its size_m" in said
    assert len(said.splitlines()) == 1 and not (tmp_path / "out" / "runs").exists()


def test_comparison_without_an_entry_to_rank_is_rejected(bench, tmp_path, capsys):
    bench.write_text(BENCH + "baseline: two\n")
    assert main(["simulators", "compare", str(bench), "--out", str(tmp_path / "out")]) == 2
    assert f"{bench}: entries: no entry can be ranked; add an entry" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_an_entry_without_a_recording_cannot_be_imported(bench, tmp_path, capsys):
    assert main(["simulators", "import", str(bench), "one", "--out", str(tmp_path / "csv")]) == 2
    assert f"{bench}: entries: one has no recording" in capsys.readouterr().err
