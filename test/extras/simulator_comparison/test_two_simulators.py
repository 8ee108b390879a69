"""The commands ``simulators agreement`` and ``simulators screen``."""

import re
import signal
from pathlib import Path

import pytest

from gz_testauto.cli import main as command
from gz_testauto.extras.simulator_comparison.bench import runner
from gz_testauto.extras.simulator_comparison.open_loop import MEASURES
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.store import ResultStore
from gz_testauto.simulators import SIMULATORS
from gz_testauto.simulators.embedded import EmbeddedSimulator

CAMPAIGN = Path(__file__).resolve().parents[3] / "config" / "smoke_campaign.yaml"

SIMULATORS.register("embedded_again", EmbeddedSimulator)


def run(out, *more):
    arguments = ["--fast", "embedded", "--slow", "kinematic", "--workers", "1"]
    return command.main(
        ["simulators", "screen", str(CAMPAIGN), "--out", str(out), *arguments, *more]
    )


@pytest.mark.slow
def test_screening_runs_all_trials_and_confirms_the_selected_trials(tmp_path, capsys):
    assert run(tmp_path, "--closest", "1", "--control", "1") == 0
    said = capsys.readouterr()
    assert "4 trials screened in embedded" in said.out
    assert "same outcome in both" in said.out
    with ResultStore.read(CampaignDirectory(tmp_path / "embedded")) as store:
        assert len(store.results().trials) == 4
    with ResultStore.read(CampaignDirectory(tmp_path / "kinematic")) as store:
        confirmed = [record.trial for record in store.results().trials]
    assert 2 <= len(confirmed) <= 4
    # the same command again: the same selection, and no trial is repeated
    assert run(tmp_path, "--closest", "1", "--control", "1") == 0
    again = capsys.readouterr()
    assert "ended" not in again.err and again.out == said.out


@pytest.mark.slow
def test_screening_in_one_simulator_is_rejected(tmp_path, capsys):
    options = ["--out", str(tmp_path / "out"), "--fast", "embedded", "--slow", "embedded"]
    assert command.main(["simulators", "screen", str(CAMPAIGN), *options]) == 2
    assert "--fast and --slow" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("option", ["--fast", "--slow"])
def test_screening_without_a_second_simulator_is_rejected(tmp_path, capsys, option):
    with pytest.raises(SystemExit) as stopped:
        command.main(
            [
                "simulators",
                "screen",
                str(CAMPAIGN),
                "--out",
                str(tmp_path / "out"),
                option,
                "embedded",
            ]
        )
    assert stopped.value.code == 2
    assert ("--slow" if option == "--fast" else "--fast") in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_open_loop_comparison_without_out_leaves_no_files(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    simulators = ["--simulators", "embedded", "embedded_again"]
    assert command.main(["simulators", "agreement", str(CAMPAIGN), "--open-loop", *simulators]) == 0
    said = capsys.readouterr()
    assert "embedded_again against embedded, with the same velocity commands" in said.out
    # the same simulator twice: no difference
    remarks = [line for line in said.out.splitlines() if line.rstrip().endswith(" ties")]
    assert len(remarks) == len(MEASURES)
    for drive in ("rest", "straight", "stop", "push", "turn", "circle"):
        assert f"embedded_again: flat/{drive}, repetition 3: done" in said.err
    assert list(tmp_path.iterdir()) == []
    assert command.main(["simulators", "agreement", str(CAMPAIGN), *simulators]) == 2
    assert "--out is missing" in capsys.readouterr().err


@pytest.mark.slow
def test_stored_open_loop_runs_are_not_repeated(tmp_path, capsys):
    arguments = ["simulators", "agreement", str(CAMPAIGN), "--open-loop", "--out", str(tmp_path)]
    arguments += ["--simulators", "embedded", "embedded_again"]
    assert command.main(arguments) == 0
    first = capsys.readouterr()
    assert command.main(arguments) == 0
    again = capsys.readouterr()
    assert "0 of 36 runs remain" in again.err
    assert again.out == first.out


@pytest.mark.slow
def test_comparison_of_a_simulator_with_itself_is_rejected(capsys):
    twice = ["--simulators", "embedded", "embedded"]
    assert command.main(["simulators", "agreement", str(CAMPAIGN), "--open-loop", *twice]) == 2
    assert re.search(r"--simulators\b.*\bembedded\b", capsys.readouterr().err)


@pytest.mark.slow
def test_stopped_open_loop_runs_return_the_exit_status_of_the_signal(tmp_path, capsys, monkeypatch):
    def stopped(bench, out, report_progress, stop, create_handle):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(runner, "run_bench", stopped)
    for arguments in (["--open-loop"], ["--out", str(tmp_path / "out")]):
        command_line = ["simulators", "agreement", str(CAMPAIGN), *arguments]
        command_line += ["--simulators", "embedded", "embedded_again"]
        assert command.main(command_line) == 128 + signal.SIGINT
    assert not (tmp_path / "out" / "embedded").exists()


@pytest.mark.slow
def test_agreement_command_runs_two_simulators_and_prints_their_agreement(tmp_path, capsys):
    options = [
        "simulators",
        "agreement",
        str(CAMPAIGN),
        "--out",
        str(tmp_path / "o"),
        "--workers",
        "1",
        "--worlds",
        "1",
    ]
    assert command.main([*options, "--simulators", "kinematic", "embedded"]) == 0
    printed = capsys.readouterr().out
    unwrapped = " ".join(printed.split())
    assert (
        "2 of 2 trials have the same outcome in kinematic and embedded; mean over wor" in unwrapped
    )
    assert "distance_m (m)" in printed
    assert max(map(len, printed.splitlines())) <= 80
    assert sorted(path.name for path in (tmp_path / "o").iterdir()) == [
        "embedded",
        "kinematic",
        "open_loop",
    ]
