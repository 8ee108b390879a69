"""A gate and results of selected trials."""

import pytest

from gz_testauto.cli.main import main
from gz_testauto.trial.outcome import Outcome
from gz_testauto.trial.plan import TrialSelection


@pytest.mark.parametrize("candidate, baseline", [("part", "all"), ("all", "part")])
def test_gate_rejects_results_of_selected_worlds(run, tmp_path, capsys, candidate, baseline):
    run(lambda trial: Outcome.COLLIDED, out=tmp_path / "all")
    run(out=tmp_path / "part", selection=TrialSelection(only=("world_0001",)))
    command = ["gate", str(tmp_path / candidate), "--baseline", str(tmp_path / baseline)]
    assert main([*command, "--allow-missing-worlds", "1"]) == 2
    text = capsys.readouterr()
    assert "part: contains only worlds that were selected by name" in text.out + text.err
