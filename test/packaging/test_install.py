"""An installation by catkin or pip has all files of the source tree.

In a devel space all files are found in the source tree, so only these tests detect files that an
installation omits.
"""

import os
import shutil
import socket
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from completed_commands import NOT_SOURCE, run

from gz_testauto.results.store import load_campaign

CHECKOUT = Path(__file__).resolve().parents[2]
SOURCE = CHECKOUT / "src"
SHARED_FOLDERS = ("config", "examples", "models", "worlds")


def files_below(folder: Path):
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def source_files():
    return {name for name in files_below(SOURCE) if ".egg-info/" not in name}


def shared_files(*folders):
    files = {f"{name}/{file}" for name in folders for file in files_below(CHECKOUT / name)}
    return {file for file in files if not {"results", ".ipynb_checkpoints"} & {*file.split("/")}}


@pytest.fixture(scope="module")
def install(tmp_path_factory):
    """Prefix of a catkin install with a Python that has the libraries, as in docs/install.md."""
    place = tmp_path_factory.mktemp("catkin")
    run(
        *("cmake", "-S", CHECKOUT, "-B", place / "build", "-DCATKIN_ENABLE_TESTING=OFF"),
        *(
            f"-DCATKIN_DEVEL_PREFIX={place / 'devel'}",
            f"-DCMAKE_INSTALL_PREFIX={place / 'install'}",
        ),
        f"-DPYTHON_EXECUTABLE={sys.executable}",
        env={**os.environ, "ROS_LANG_DISABLE": "gencpp:geneus:genlisp:gennodejs"},
    )
    run("cmake", "--build", place / "build", "--target", "install")
    return place / "install"


@pytest.mark.ros
def test_interpreter_of_a_devel_space_also_runs_the_nodes_of_other_packages(tmp_path):
    page = " ".join((CHECKOUT / "docs" / "install.md").read_text(encoding="utf-8").split())
    statement = page.split("`-DPYTHON_EXECUTABLE` applies to the whole workspace")[1]
    assert "In `devel/`, all Python nodes, also those of other packages," in statement
    assert "In `install/`, the nodes of other packages keep their interpreter." in statement
    other, devel, prefix = tmp_path / "other", tmp_path / "devel", tmp_path / "install"
    other.mkdir()
    (other / "node").write_text("#!/usr/bin/env python3\n")
    (other / "package.xml").write_text(
        "<package><name>other</name><version>1.0.0</version><description>-</description>"
        "<maintainer email='a@b.org'>-</maintainer><license>-</license>"
        "<buildtool_depend>catkin</buildtool_depend></package>"
    )
    (other / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.5)\nproject(other)\n"
        "find_package(catkin REQUIRED)\ncatkin_package()\n"
        "catkin_install_python(PROGRAMS node DESTINATION ${CATKIN_PACKAGE_BIN_DESTINATION})\n"
    )
    run(
        *("cmake", "-S", other, "-B", tmp_path / "build", "-DCATKIN_ENABLE_TESTING=OFF"),
        *(f"-DCATKIN_DEVEL_PREFIX={devel}", f"-DCMAKE_INSTALL_PREFIX={prefix}"),
        f"-DPYTHON_EXECUTABLE={sys.executable}",
    )
    run("cmake", "--build", tmp_path / "build", "--target", "install")
    first_lines = [
        (folder / "lib" / "other" / "node").read_text(encoding="utf-8").splitlines()[0]
        for folder in (devel, prefix)
    ]
    assert first_lines == [f"#!{sys.executable}", "#!/usr/bin/env python3"]


def in_install(install, *command):
    """Output of a command in a shell that sourced the install space."""
    return run("bash", "-c", '. "$0/setup.bash" && exec "$@"', install, *command)


@pytest.mark.ros
def test_catkin_installs_every_module_and_file(install):
    packages = install / "lib" / "python3" / "dist-packages"
    assert source_files() - files_below(packages) == set()
    expected = shared_files(*SHARED_FOLDERS, "launch")
    assert expected - files_below(install / "share" / "gz_testauto") == set()


@pytest.mark.ros
def test_messages_and_modules_can_be_imported_after_catkin_install(install):
    program = (
        "import gz_testauto.msg, gz_testauto.srv, gz_testauto.campaign as code\n"
        "from gz_testauto.base import resources\n"
        "print(gz_testauto.msg.__file__, code.__file__, resources.share_directory(), sep='\\n')"
    )
    places = in_install(install, sys.executable, "-c", program).splitlines()
    assert [place for place in places if not place.startswith(str(install))] == []


@pytest.mark.ros
def test_nodes_and_command_are_installed_as_programs(install):
    scripts = {path.name for path in (CHECKOUT / "scripts").iterdir() if path.is_file()}
    nodes = {path.name for path in (install / "lib" / "gz_testauto").glob("*")}
    assert nodes == scripts - {"gz_testauto"}
    command = install / "bin" / "gz_testauto"
    assert in_install(install, sys.executable, command, "--version").startswith("gz_testauto ")


@pytest.mark.ros
def test_launch_files_are_found_after_catkin_install(install):
    names = [path.name for path in (CHECKOUT / "launch").glob("*.launch")]
    assert "campaign.launch" in names
    for name in names:
        found = in_install(install, "roslaunch", "--files", "gz_testauto", name)
        assert str(install / "share" / "gz_testauto" / "launch" / name) in found


@pytest.fixture
def master_address(monkeypatch, tmp_path):
    """Return the port of a ROS master of this test, which no other test uses."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("ROS_MASTER_URI", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("ROS_IP", "127.0.0.1")
    monkeypatch.setenv("ROS_HOME", str(tmp_path / "ros_home"))
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")  # an installation has no compiled code of numba
    return port


GATE = """
<launch>
  <test pkg="gz_testauto" type="gate" test-name="gate" time-limit="120.0">
    <param name="results" value="{results}"/>
    <param name="planner" value="fgm"/>
    <param name="baseline_planner" value="straight"/>
    <param name="not_worse_than" value="0.99"/>
  </test>
</launch>
"""


@pytest.mark.ros
def test_installed_nodes_run_a_campaign_and_its_gate(install, master_address, tmp_path):
    out = tmp_path / "out"
    campaign = install / "share" / "gz_testauto" / "config" / "smoke_campaign.yaml"
    in_install(
        install,
        *("timeout", 240, "roslaunch", "-p", master_address, "gz_testauto", "campaign.launch"),
        *(f"campaign:={campaign}", "simulator:=kinematic", f"out:={out}"),
    )
    assert len(load_campaign(out).results.trials) == 4
    robot = tmp_path / "my_robot"
    robot.mkdir()
    (robot / "gate.launch").write_text(GATE.format(results=out))
    (robot / "package.xml").write_text("<package><name>my_robot</name></package>")
    program = 'ROS_PACKAGE_PATH="$1:$ROS_PACKAGE_PATH" timeout 150 rostest --text "$1/gate.launch"'
    printed = subprocess.run(
        ["bash", "-c", f'. "{install}/setup.bash" && {program}', "bash", str(robot)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    ).stdout
    assert "PASSED fgm: 100.0 %, straight had 0.0 %" in printed


SPAWNER = """
<launch>
  <node pkg="gz_testauto" type="simulator" name="simulator">
    <param name="simulator" value="kinematic"/>
    <param name="world" value="$(find gz_testauto)/worlds/room.world"/>
    <param name="real_time_factor" value="1.0"/>
  </node>
  <include file="$(find gz_testauto)/launch/spawner.launch">
    <arg name="base_world" value="$(find gz_testauto)/worlds/room.world"/>
  </include>
</launch>
"""
TWO_BOXES = (
    "{spec: 'obstacles: [{type: box, count: 2, size_x_m: 0.4, size_y_m: 0.4, size_z_m: 1.0}]\n\n"
    "region: {rectangle: {x_m: [-2, 2], y_m: [-2, 2]}}', seed: 3}"
)


@pytest.mark.ros
def test_installed_spawner_spawns_obstacles(install, master_address, tmp_path):
    (tmp_path / "spawner.launch").write_text(SPAWNER)
    command = f'. "{install}/setup.bash" && exec roslaunch -p {master_address} "$0"'
    launched = subprocess.Popen(
        ["bash", "-c", command, str(tmp_path / "spawner.launch")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for service in ("/obstacle_spawner/spawn", "/gazebo/get_world_properties"):
            offered = f"until rosservice list | grep -q {service}; do sleep 0.5; done"
            in_install(install, "timeout", "120", "bash", "-c", offered)
        call = ("timeout", "120", "rosservice", "call", "/obstacle_spawner/spawn", TWO_BOXES)
        assert "success: True" in in_install(install, *call)
    finally:
        launched.terminate()
        launched.wait(60)


def test_the_instructions_for_a_workspace_upgrade_pip_before_the_build():
    """The pip of Ubuntu 20.04 and Debian 11 fails to build the wheel (install_layout)."""
    recipe = (CHECKOUT / "docs" / "install.md").read_text().partition("In a catkin workspace")[2]
    lines = recipe.split("```")[1].splitlines()
    renewed = next(n for n, line in enumerate(lines) if "pip install --upgrade pip" in line)
    built = next(n for n, line in enumerate(lines) if "pip install './src/gz_testauto" in line)
    assert renewed < built


@pytest.mark.slow
def test_python_wheel_contains_all_modules_and_files(tmp_path):
    tree = Path(shutil.copytree(str(CHECKOUT), str(tmp_path / "tree"), ignore=NOT_SOURCE))
    build = (
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
    )
    run(*build, "--wheel-dir", tmp_path, tree)
    (wheel,) = tmp_path.glob("gz_testauto-*.whl")
    names = set(zipfile.ZipFile(str(wheel)).namelist())
    assert source_files() - names == set()
    data = f"{wheel.name[: -len('-py3-none-any.whl')]}.data"
    shared = {f"{data}/data/share/gz_testauto/{name}" for name in shared_files(*SHARED_FOLDERS)}
    assert shared - names == set()
    assert f"{data}/scripts/gz_testauto" in names
