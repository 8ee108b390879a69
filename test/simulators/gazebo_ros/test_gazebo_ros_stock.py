"""The conformance suite on an unmodified gazebo_ros, which this file starts and stops."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gz_testauto.base.errors import SimulatorError
from gz_testauto.simulators.gazebo_ros import GazeboRosClient

HERE = Path(__file__).resolve().parents[2] / "ros"
FILES = ("gazebo_ros_conformance.py", "gazebo_ros_scenes.py")
WORLD = """<sdf version="1.6"><world name="default"><physics type="ode">
<max_step_size>0.001</max_step_size><real_time_update_rate>1000</real_time_update_rate>
</physics></world></sdf>"""
START_S = 60.0


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@pytest.fixture
def environment(tmp_path):
    """Return the environment of a separate gazebo_ros without models."""
    world = tmp_path / "empty.world"
    world.write_text(WORLD)
    master = free_port()
    environment = {
        **os.environ,
        "ROS_MASTER_URI": f"http://127.0.0.1:{master}",
        "ROS_IP": "127.0.0.1",
        "ROS_LOG_DIR": str(tmp_path),
        "GAZEBO_MASTER_URI": f"http://127.0.0.1:{free_port()}",
        "GAZEBO_MODEL_DATABASE_URI": "http://127.0.0.1:9/",
    }
    command = ["roslaunch", "-p", str(master), "gazebo_ros", "empty_world.launch", "gui:=false"]
    with (tmp_path / "gazebo_ros.log").open("w") as log:
        launch = subprocess.Popen(
            [*command, f"world_name:={world}"],
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        await_services(environment["ROS_MASTER_URI"], launch)
        yield environment
    finally:
        launch.send_signal(signal.SIGINT)
        try:
            launch.wait(30.0)
        except subprocess.TimeoutExpired:
            os.killpg(launch.pid, signal.SIGKILL)
            launch.wait(30.0)


def await_services(master_uri, launch):
    client = GazeboRosClient(master_uri=master_uri)
    deadline = time.monotonic() + START_S
    while True:
        try:
            client.world()
            return client.close()
        except SimulatorError:
            assert launch.poll() is None, "roslaunch ended: see gazebo_ros.log"
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


@pytest.mark.gazebo_ros
def test_unmodified_gazebo_ros_passes_the_conformance_suite(environment):
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *FILES],
        cwd=HERE,
        env=environment,
        capture_output=True,
        text=True,
        timeout=900.0,
        check=False,
    )
    print(run.stdout[-20000:])
    assert run.returncode == 0, run.stderr[-2000:]
