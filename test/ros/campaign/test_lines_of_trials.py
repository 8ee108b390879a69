"""The lines of trials in an output that is no terminal, such as that of a CI service."""

import os
import signal
import sqlite3
import subprocess

import pytest

from gz_testauto.base import resources
from gz_testauto.processes.start import free_port

pytestmark = [pytest.mark.ros, pytest.mark.slow, pytest.mark.timeout(300)]


def finished_trials(out):
    store = sqlite3.connect(out / "results.sqlite")
    try:
        return store.execute("SELECT count(*) FROM trials").fetchone()[0]
    finally:
        store.close()


def test_line_of_a_trial_appears_before_the_next_trials_have_finished(tmp_path):
    port = free_port()
    environment = {**os.environ, "ROS_MASTER_URI": f"http://127.0.0.1:{port}"}
    environment.pop("PYTHONUNBUFFERED", None)
    smoke = resources.share_directory() / "config" / "smoke_campaign.yaml"
    process = subprocess.Popen(
        [
            *("roslaunch", "-p", str(port), "gz_testauto", "campaign.launch", f"campaign:={smoke}"),
            *("simulator:=kinematic", "real_time_factor:=5.0", f"out:={tmp_path / 'out'}"),
        ],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert any("1 of 4: world_0000" in line for line in process.stdout)
        assert finished_trials(tmp_path / "out") < 4
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
