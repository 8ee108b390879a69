"""Functions of ./bootstrap that can be tested without a setup."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gz_testauto.base.errors import MissingDependencyError
from gz_testauto.base.installation import install_command, shell_command
from gz_testauto.simulators.gazebo import installation

CHECKOUT = Path(__file__).resolve().parents[2]
BOOTSTRAP = CHECKOUT / "bootstrap"

UNPACKS = 'mkdir -p "${@: -1}/usr/bin" && touch "${@: -1}/usr/bin/gzserver-11.1.0"'


@pytest.fixture
def machine(tmp_path):
    """A machine with an empty cache and no Gazebo, whose mmdebstrap is ``machine.unpacker``."""
    return Machine(tmp_path)


class Machine:
    def __init__(self, place):
        self.cache = place / "cache" / "gz_testauto"
        self.programs = place / "bin"
        self.programs.mkdir()
        self.environment = {
            **{name: text for name, text in os.environ.items() if "GAZEBO" not in name},
            "XDG_CACHE_HOME": str(place / "cache"),
            "PATH": f"{self.programs}:/usr/bin:/bin",
        }
        self.provide("gzserver", "exit 1")  # in case the machine that runs this test has one

    def provide(self, name, script):
        program = self.programs / name
        program.write_text(f"#!/bin/bash\n{script}\n")
        program.chmod(0o755)

    def run(self, commands, **variables):
        """Run shell commands with the functions of ``bootstrap`` defined."""
        return subprocess.run(
            ["bash", "-c", f'source "{BOOTSTRAP}"; mkdir -p "$CACHE"; {commands}'],
            env={**self.environment, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )


def test_completely_unpacked_gazebo_is_used(machine):
    machine.provide("mmdebstrap", UNPACKS)
    assert machine.run("ensure_gazebo && have_gazebo").returncode == 0
    assert (machine.cache / "gazebo-11" / "usr" / "bin" / "gzserver-11.1.0").is_file()


def test_interrupted_unpacking_of_gazebo_is_repeated(machine):
    machine.provide("mmdebstrap", f"{UNPACKS}; touch half; kill -9 $PPID $$")
    machine.run(f'cd "{machine.cache.parent}"; ensure_gazebo')
    assert (machine.cache / "gazebo-11.partial" / "usr").is_dir()
    assert machine.run("have_gazebo").returncode != 0
    machine.provide("mmdebstrap", f'[ ! -e "${{@: -1}}" ] && {UNPACKS}')
    assert machine.run("ensure_gazebo && have_gazebo").returncode == 0


def test_bootstrap_reports_a_missing_gazebo_and_continues(machine):
    machine.provide("mmdebstrap", "echo no mirror; exit 1")
    done = machine.run("ensure_gazebo; echo went on")
    assert "no mirror" in done.stdout
    assert "campaigns run in the embedded simulator instead, and tests that" in done.stdout
    assert done.stdout.endswith("went on\n")


def test_bootstrap_fails_if_a_required_gazebo_is_missing(machine):
    machine.provide("mmdebstrap", "exit 1")
    done = machine.run("ensure_gazebo; echo went on", GZ_TESTAUTO_REQUIRE_GAZEBO="1")
    assert done.returncode == 1
    assert "went on" not in done.stdout


def test_bootstrap_names_an_invalid_gazebo_root(machine, tmp_path):
    done = machine.run("ensure_gazebo", GZ_TESTAUTO_GAZEBO_ROOT=str(tmp_path))
    assert done.returncode == 1
    assert f"GZ_TESTAUTO_GAZEBO_ROOT is {tmp_path}" in done.stdout


def test_gazebo_with_an_unsupported_version_on_path_is_not_used(machine):
    machine.provide("gzserver", "echo 'Gazebo multi-robot simulator, version 9.19.0'")
    assert machine.run("have_gazebo").returncode != 0
    machine.provide("gzserver", "echo 'Gazebo multi-robot simulator, version 11.10.2'")
    assert machine.run("have_gazebo").returncode == 0


def test_bootstrap_and_the_code_find_the_same_gazebo(machine, monkeypatch):
    for name in ("PATH", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, machine.environment[name])
    monkeypatch.delenv(installation.ROOT_VARIABLE, raising=False)
    loader = machine.cache / "gazebo-11" / "lib" / "x86_64-linux-gnu" / "ld-2.31.so"
    machine.provide("mmdebstrap", UNPACKS)
    machine.provide("gzserver", "echo 'Gazebo multi-robot simulator, version 9.19.0'")
    with pytest.raises(MissingDependencyError, match="Gazebo 9"):
        installation.find_gazebo()
    machine.run("ensure_gazebo")
    loader.parent.mkdir(parents=True)
    loader.write_text("#!/bin/sh\necho 'Gazebo multi-robot simulator, version 11.1.0'\n")
    loader.chmod(0o755)
    assert installation.find_gazebo().kind == "tree"
    machine.provide("gzserver", "echo 'Gazebo multi-robot simulator, version 11.10.2'")
    assert installation.find_gazebo().kind == "system"


# Until a file exists, at most a minute.
AWAIT = 'await() { for _ in $(seq 3000); do [ -e "$1" ] && return; sleep 0.02; done; return 1; }'


def test_gazebo_and_python_are_installed_at_the_same_time(machine, tmp_path):
    machine.provide(
        "mmdebstrap", f'{AWAIT}; touch "{tmp_path}/gazebo"; await "{tmp_path}/python" && {UNPACKS}'
    )
    done = machine.run(
        f'{AWAIT}; make_environment() {{ await "{tmp_path}/gazebo"; touch "{tmp_path}/python"; }};'
        'install_dependencies() { mkdir -p "$1"; };'
        "ensure_gazebo_and_python && have_gazebo && python_is_ready && echo both"
    )
    assert done.stdout.endswith("both\n"), done.stdout


def test_failed_download_of_a_required_gazebo_ends_the_setup(machine):
    machine.provide("mmdebstrap", "echo no mirror; exit 1")
    done = machine.run(
        'make_environment() { :; }; install_dependencies() { mkdir -p "$1"; };'
        "ensure_gazebo_and_python; echo went on",
        GZ_TESTAUTO_REQUIRE_GAZEBO="1",
    )
    assert done.returncode == 1
    assert "no mirror" in done.stdout
    assert "went on" not in done.stdout and "unexpected" not in done.stdout


def test_failed_setup_of_python_stops_the_download_of_gazebo(machine, tmp_path):
    machine.provide("mmdebstrap", f'touch "{tmp_path}/began"; sleep 20; touch "{tmp_path}/ended"')
    done = machine.run(
        f'{AWAIT}; make_environment() {{ await "{tmp_path}/began"; return 1; }};'
        "ensure_gazebo_and_python; echo went on"
    )
    assert done.returncode == 1
    assert "the Python environment could not be created" in done.stdout
    assert "went on" not in done.stdout
    assert not (tmp_path / "ended").exists()


SET_UP = """
ensure_packages() { echo "packages: $*"; }; ensure_localhost() { :; }
ensure_gazebo_and_python() { :; }; ensure_build() { :; }; enter_environment() { :; }
step() { shift; "$@"; }; install_dependencies() { echo "extras: $2"; mkdir -p "$1"; }
"""


def test_libraries_of_extras_and_tests_are_installed_once_and_only_if_needed(machine):
    done = machine.run(f"{SET_UP} set_up; set_up --all; set_up --all; set_up")
    core, extras, again, with_extras = done.stdout.split("packages: ")[1:]
    assert core == again.replace("libgl1 libglib2.0-0", "") == with_extras == "\n"
    packages, names = extras.splitlines()
    assert packages == "libgl1 libglib2.0-0"
    table = (CHECKOUT / "pyproject.toml").read_text().split("optional-dependencies]")[1]
    needed = set(re.findall(r"^(\w+) = \[(?!\])", table.split("\n[")[0], re.MULTILINE))
    assert set(names[len("extras: ") :].split(",")) == needed - {"notebook", "train"}


def test_exec_of_a_program_that_only_tests_need_names_the_command_that_installs_it(machine):
    done = machine.run(f"{SET_UP} main exec no_such_program")
    assert done.returncode == 1
    assert "no_such_program was not found; ./bootstrap setup --all installs" in done.stdout
    assert machine.run(f"{SET_UP} main exec echo started").stdout.endswith("started\n")


def test_setup_rejects_unknown_options(machine):
    done = machine.run(f"{SET_UP} main setup --al")
    assert (done.returncode, done.stdout) == (1, "bootstrap: setup accepts only --all\n")


def test_missing_extra_in_the_environment_of_bootstrap_names_bootstrap(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert "-m pip install" in install_command("scenic")
    assert shell_command() == "gz_testauto"
    (tmp_path / ".complete").touch()
    assert install_command("scenic") == f"{BOOTSTRAP} setup --all"
    assert shell_command() == f"{BOOTSTRAP} exec gz_testauto"
    for extra in ("train", "notebook", "of_another_package"):
        assert "-m pip install" in install_command(extra)


def test_second_bootstrap_waits_for_the_first(machine, tmp_path):
    lock = f'take_lock "{tmp_path}/lock" "waiting"'
    held, message = tmp_path / "held", tmp_path / "message"
    limited = "for _ in $(seq 3000); do {} && break; sleep 0.02; done"
    done = machine.run(
        f'({lock}; touch "{held}"; {limited.format(f"grep -qs waiting {message}")}; echo first) & '
        f'{limited.format(f"[ -e {held} ]")}; {lock} 2>"{message}"; echo second; wait',
    )
    assert done.stdout.split() == ["first", "second"]
    assert message.read_text() == "==> waiting\n"


def test_unexpected_failure_of_bootstrap_is_reported(machine):
    done = machine.run("silent() { false; true; }; silent")
    assert done.returncode == 1
    assert "unexpected error" in done.stdout


def test_bootstrap_exec_returns_the_exit_status_of_the_command(machine):
    ready = subprocess.run(
        ["bash", "-c", f'source "{BOOTSTRAP}"; enter_ros; is_set_up'], stderr=subprocess.PIPE
    )
    if ready.returncode != 0:
        pytest.skip("this checkout was not set up by ./bootstrap")
    assert subprocess.run([str(BOOTSTRAP), "exec", "bash", "-c", "exit 7"]).returncode == 7


def test_folders_in_ros_package_path_remain_after_setup(machine):
    given = "/robots:/data/my descriptions:/work"
    done = machine.run(
        'ROS_PACKAGE_PATH=/work:/overlay; keep_given_packages; echo "$ROS_PACKAGE_PATH"',
        ROS_PACKAGE_PATH=given,
    )
    assert done.stdout == "/work:/overlay:/robots:/data/my descriptions\n"
    none = machine.run('ROS_PACKAGE_PATH=/work; keep_given_packages; echo "$ROS_PACKAGE_PATH"')
    assert none.stdout.startswith("/work") and "::" not in none.stdout


def test_continuous_integration_runs_only_bootstrap_test():
    commands = [
        line for line in (CHECKOUT / ".ci" / "run").read_text().splitlines() if line[:1] != "#"
    ]
    assert commands == ['exec "$(dirname "$0")/../bootstrap" test']


@pytest.mark.parametrize(
    ("variables", "address"),
    [
        ({}, "127.0.0.1"),
        ({"ROS_MASTER_URI": "http://localhost:11311"}, "127.0.0.1"),
        ({"ROS_MASTER_URI": "http://127.0.0.1:11319/"}, "127.0.0.1"),
        ({"ROS_MASTER_URI": "http://robot:11311"}, ""),
        ({"ROS_MASTER_URI": "http://localhost.robots.example:11311"}, ""),
        ({"ROS_IP": "10.0.0.5"}, "10.0.0.5"),
        ({"ROS_HOSTNAME": "desk"}, ""),
    ],
)
def test_ros_listens_on_loopback_unless_the_user_configures_another_address(
    machine, variables, address
):
    for name in ("ROS_IP", "ROS_HOSTNAME", "ROS_MASTER_URI"):
        machine.environment.pop(name, None)
    ran = machine.run('stay_on_loopback; echo "address=${ROS_IP:-}"', **variables)
    assert f"address={address}\n" in ran.stdout, ran.stdout


@pytest.mark.slow
def test_parts_of_bootstrap_test_run_in_parallel(machine):
    done = machine.run(
        "prepare_parts;"
        'start_part first bash -c "echo first begins; sleep 2; echo first ends";'
        'start_part second bash -c "echo second; echo FAILED test/test_a.py; exit 3";'
        'start_part third bash -c "echo [ros/test_b][FAILURE]----; exit 3";'
        "end_parts; conclude fine",
        PROGRESS_S="1",
    )
    assert done.returncode == 1
    assert re.search(r"\d s  first: first begins$", done.stdout, re.MULTILINE)
    shown = [line for line in done.stdout.splitlines() if line[:5] in ("first", "secon")]
    assert shown == ["second", "first begins", "first ends"]
    assert re.search(r"^FAILED +\d+ s  second$", done.stdout, re.MULTILINE)
    summary = re.split(r"^passed +\d+ s  first$", done.stdout, flags=re.MULTILINE)[1]
    assert "\nFAILED test/test_a.py\n" in summary
    assert "\n[ros/test_b][FAILURE]----\n" in summary


def test_part_with_failed_rostest_results_fails(machine):
    done = machine.run(
        "prepare_parts; start_part rostest true; start_part pytest true;"
        "judge() { echo no results; return 1; }; end_parts rostest judge; conclude fine"
    )
    assert done.returncode == 1
    assert "no results" in done.stdout
    assert re.search(r"^FAILED +\d+ s  rostest$", done.stdout, re.MULTILINE)
    assert re.search(r"^passed +\d+ s  pytest$", done.stdout, re.MULTILINE)


PART = """
import pathlib, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
place = pathlib.Path(sys.argv[1])
try:
    (place / "child").write_text(str(child.pid))
    time.sleep(600)
except KeyboardInterrupt:
    child.wait(60)
    (place / "interrupted").write_text("")
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "kill"])
def test_interrupted_bootstrap_stops_all_parts_and_their_processes(machine, tmp_path, number):
    commands = (
        f'prepare_parts; start_part one "{sys.executable}" -c "$PART" "{tmp_path}"; end_parts'
    )
    process = subprocess.Popen(
        ["bash", "-c", f'source "{BOOTSTRAP}"; {commands}'],
        env={**machine.environment, "PART": PART},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    child = tmp_path / "child"
    try:
        wait_for(lambda: child.is_file() and child.read_text() != "")
        process.send_signal(number)
        assert process.wait(60) == 128 + number
    finally:
        process.kill()
    assert (tmp_path / "interrupted").exists()
    wait_for(lambda: not Path(f"/proc/{child.read_text()}").exists())


def wait_for(condition):
    deadline = time.monotonic() + 60.0
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize(
    "arguments, processors, expected",
    [
        ("", 2, "workers:=2"),
        ("out:=/tmp/x gui:=false", 3, "workers:=3"),
        ("real_time_factor:=lockstep", 16, "workers:=4"),
        ("workers:=1", 2, ""),
        ("gui:=true", 2, ""),
        ("rviz:=True", 2, ""),
        ("stack:=1", 2, ""),
        ("real_time_factor:=1.0", 2, ""),
    ],
)
def test_campaign_runs_as_many_trials_in_parallel_as_processors(
    machine, arguments, processors, expected
):
    machine.provide("nproc", f"echo {processors}")
    assert machine.run(f"campaign_workers {arguments}").stdout.strip() == expected


def test_output_of_a_campaign_is_not_buffered(machine):
    machine.environment.pop("PYTHONUNBUFFERED", None)
    machine.provide("roslaunch", "echo unbuffered: $PYTHONUNBUFFERED")
    done = machine.run("set_up() { :; }; campaign workers:=1")
    assert done.stdout == "unbuffered: 1\n"
