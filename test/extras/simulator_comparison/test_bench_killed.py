"""Comparisons of simulators that are killed or stopped, and continued by the same command."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest

from gz_testauto.base.errors import SimulatorError
from gz_testauto.cli.main import main
from gz_testauto.extras.simulator_comparison.bench.simulator_process import SimulatorProcess

pytestmark = pytest.mark.slow

BENCH = """name: small
robot: {model: package://gz_testauto/models/wheelchair}
terrains: [{name: flat, kind: flat}]
maneuvers: [{name: straight, duration_s: 1}, {name: circle, duration_s: 1}]
repetitions: 2
measure_load: false
entries:
  - {name: fine, simulator: embedded, options: {step_s: 0.002}}
  - {name: coarse, simulator: embedded}
reference: fine
weights: {pose_drift: 1}
"""
COMMAND = [sys.executable, "-m", "gz_testauto.cli.main", "simulators", "compare"]


@pytest.fixture
def bench(tmp_path):
    file = tmp_path / "bench.yaml"
    file.write_text(BENCH)
    return file


def started(bench, out, runs):
    """Start a comparison, and return its process when ``runs`` runs are stored."""
    process = subprocess.Popen(
        [*COMMAND, str(bench), "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while f"[{runs}/" not in process.stderr.readline():
        assert process.poll() is None
    return process


def still_running(processes):
    """Return the child processes that still run after 20 s."""
    _, left = psutil.wait_procs(
        [one for one in processes if one.is_running() and one.status() != psutil.STATUS_ZOMBIE],
        timeout=20,
    )
    return [one for one in left if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]


def stored(out):
    return {
        path.relative_to(out).as_posix(): {
            name: array.tobytes() for name, array in np.load(path).items()
        }
        for path in sorted((out / "runs").rglob("*"))
        if path.is_file()
    }


def test_killed_comparison_continues_with_the_same_result(bench, tmp_path, capsys):
    whole, out = tmp_path / "whole", tmp_path / "killed"
    assert main(["simulators", "compare", str(bench), "--out", str(whole)]) == 0
    for drives in (1, 3):
        process = started(bench, out, drives)
        children = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        process.communicate(timeout=60)
        assert still_running(children) == []
    assert 4 <= len(stored(out)) < 8
    assert main(["simulators", "compare", str(bench), "--out", str(out)]) == 0
    assert stored(out) == stored(whole)
    measures = [json.loads((one / "findings.json").read_text())["measures"] for one in (whole, out)]
    assert measures[0] == measures[1]

    (out / "findings.json").unlink()
    capsys.readouterr()
    assert main(["simulators", "report", str(out)]) == 0  # from what is stored
    assert "agreement with it, not accuracy" in " ".join(capsys.readouterr().out.split())
    assert json.loads((out / "findings.json").read_text())["measures"] == measures[0]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_to_the_process_group_stops_after_the_current_runs(bench, tmp_path, number, status):
    process = started(bench, tmp_path / "out", 1)
    children = psutil.Process(process.pid).children(recursive=True)
    os.killpg(process.pid, number)
    at_signal = len(stored(tmp_path / "out"))
    _, told = process.communicate(timeout=60)
    assert process.returncode == status
    assert "trying again" not in told
    assert "stopped; the same command continues" in told and "Traceback" not in told
    assert still_running(children) == []
    assert 1 <= at_signal <= len(stored(tmp_path / "out")) <= at_signal + 2


def test_second_ctrl_c_stops_immediately_without_storing_a_run(bench, tmp_path):
    longer_than_any_timeout = "maneuvers: [{name: circle, duration_s: 600}]"
    bench.write_text(re.sub("maneuvers: .*", longer_than_any_timeout, BENCH))
    assert longer_than_any_timeout in bench.read_text()
    out = tmp_path / "out"
    process = subprocess.Popen(
        [*COMMAND, str(bench), "--out", str(out), "--workers", "2"],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    until_s = time.monotonic() + 120.0
    while len(list(out.glob("grounds/*/flat.json"))) < 2 and time.monotonic() < until_s:
        time.sleep(0.05)
    children = psutil.Process(process.pid).children(recursive=True)
    os.killpg(process.pid, signal.SIGINT)
    while "Ctrl-C again" not in process.stderr.readline():
        assert process.poll() is None
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert still_running(children) == []
    assert stored(out) == {}
    grounds = [json.loads(path.read_text()) for path in out.glob("grounds/*/flat.json")]
    assert [ground["refusal"] for ground in grounds] == [None, None]


def test_a_killed_simulator_process_is_replaced(bench, tmp_path):
    process = started(bench, tmp_path / "out", 1)
    workers = [
        child
        for child in psutil.Process(process.pid).children()
        if "spawn_main" in " ".join(child.cmdline())
    ]
    assert workers
    for worker in workers:
        worker.kill()
    _, told = process.communicate(timeout=120)
    assert process.returncode == 0, told
    assert len(stored(tmp_path / "out")) == 8


def test_request_without_a_reply_raises_the_error_of_a_stalled_simulator():
    message = r"'open': no progress for 0\.01 s"
    with SimulatorProcess(timeout_s=0.01) as process, pytest.raises(SimulatorError, match=message):
        process.open("kinematic", {})


def test_a_directory_without_a_comparison_is_rejected(tmp_path, capsys):
    assert main(["simulators", "report", str(tmp_path)]) == 2
    assert "no comparison" in capsys.readouterr().err
