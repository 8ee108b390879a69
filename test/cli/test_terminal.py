"""Names and texts from results cannot control a terminal."""

import dataclasses
import io
import os
import re
import signal
import subprocess
import sys

import pytest
from rich.console import Console
from trial_values import trial_value

from gz_testauto.analysis.overview import analyze
from gz_testauto.campaign.progress import Progress
from gz_testauto.cli import main as command
from gz_testauto.cli.progress import BarListener, LineListener
from gz_testauto.report.plain import report_console
from gz_testauto.report.table import print_report
from gz_testauto.results.records import AttemptRecord, CampaignResults, TrialRecord
from gz_testauto.trial.outcome import Outcome
from gz_testauto.worlds.record import WorldRecord

CONTROL = "[red]\x1b]0;owned\x07\x1b[2J\x9b[/red]:smile:"
ESCAPED = "[red]\\x1b]0;owned\\x07\\x1b[2J\\x9b[/red]:smile:"


def record(outcome=Outcome.REACHED, index=0):
    return TrialRecord(
        index, CONTROL, index, CONTROL, 0, 1, outcome, CONTROL, 1, 1.0, "", "", {"distance_m": 1.0}
    )


def test_report_prints_names_unchanged_and_escapes_control_characters():
    results = CampaignResults(
        CONTROL,
        (CONTROL, "other"),
        (WorldRecord(0, CONTROL, "/w", "abc"),),
        2,
        (record(), dataclasses.replace(record(Outcome.COLLIDED, 1), planner="other")),
        (AttemptRecord(0, 1, CONTROL, 1.0, ""),),
    )
    stream = io.StringIO()
    print_report(analyze(results), report_console(stream))
    printed = stream.getvalue()
    assert "\x1b" not in printed and "\x07" not in printed and "\x9b" not in printed
    assert f"Campaign {ESCAPED}" in printed.replace("\n", "")
    assert "[/red]" in printed and ":smile:" in printed


@pytest.mark.parametrize("colors", [True, False])
def test_progress_escapes_control_characters_in_names(colors):
    stream = io.StringIO()
    console = Console(file=stream, highlight=False, width=200, no_color=not colors)
    listener = BarListener(console) if colors else LineListener(stream)
    listener.trial_ended(record(), Progress(2, 1, 0, 1.0))
    listener.attempt_failed(trial_value(world=CONTROL, planner=CONTROL), 1, CONTROL)
    assert stream.getvalue().count(ESCAPED) == 6
    assert "\x1b" not in stream.getvalue()


@pytest.mark.parametrize("colors", [True, False])
def test_repeated_cause_of_invalid_attempts_is_printed_once(colors):
    stream = io.StringIO()
    listener = BarListener(Console(file=stream, width=200)) if colors else LineListener(stream)
    for attempt, cause in enumerate(("no scan", "no scan", "no clock", "no scan", "no scan"), 1):
        listener.attempt_failed(trial_value(world="w", planner="p"), attempt, cause)
    lost = dataclasses.replace(record(), outcome=Outcome.INVALID, detail="no scan", attempts=5)
    listener.trial_ended(lost, Progress(2, 1, 0, 1.0))
    assert re.findall(r"(?:attempt \d is )?invalid.*", stream.getvalue()) == [
        "attempt 1 is invalid: no scan",
        "attempt 2 is invalid: the same cause",
        "attempt 3 is invalid: no clock",
        "attempt 4 is invalid: no scan",
        "attempt 5 is invalid: the same cause",
        "invalid, after 5 attempts",
    ]
    listener.trial_ended(dataclasses.replace(lost, trial=7), Progress(2, 2, 0, 1.0))
    assert stream.getvalue().endswith("invalid, no scan\n")


def test_control_characters_in_an_error_are_escaped(tmp_path, capsys):
    (tmp_path / "x.yaml").write_text('"\\e]0;owned\\a": 1\n')
    arguments = ["run", tmp_path / "x.yaml", "--out", tmp_path / "out"]
    assert command.main([str(argument) for argument in arguments]) == 2
    printed = capsys.readouterr().err
    assert "\x1b" not in printed and "\x07" not in printed


def test_a_signal_during_a_write_to_standard_error_stops_the_command():
    program = (
        "import sys\n"
        "from gz_testauto.campaign.signals import StopSignals\n"
        "from gz_testauto.cli.progress import announce_stop\n"
        "with StopSignals(on_first=announce_stop) as stop:\n"
        "    print('x' * 1_000_000, file=sys.stderr, flush=True)\n"
        "sys.exit(stop.exit_status)\n"
    )
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    process = subprocess.Popen(
        [sys.executable, "-c", program], stderr=subprocess.PIPE, bufsize=0, env=buffered
    )
    assert process.stderr.read(1) == b"x"  # the rest fills the pipe, so the process waits
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 143
    assert b"press Ctrl-C again" in errors
