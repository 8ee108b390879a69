"""Results of other authors: reading them runs no program, and changes only the named outputs."""

import contextlib
import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from test_store_limits import super_journal

import gz_testauto
from gz_testauto.base.errors import GzTestautoError
from gz_testauto.base.resources import share_directory
from gz_testauto.campaign.resume import read_campaign
from gz_testauto.cli.main import VERBS, main
from gz_testauto.cli.trust import require_trust
from gz_testauto.report.page.server import PageServer
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.opened import open_results

EVIL = """<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:property name="a" value="${{(lambda: [c for c in ().__class__.__base__.__subclasses__()
if c.__name__ == '_wrap_close'][0].__init__.__globals__['system']('touch {}'))()}}"/>
<link name="base"><inertial><mass value="${{a + 1}}"/></inertial></link></robot>"""
"""A xacro file that creates a file when it is expanded."""


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    """Return the results directory of two worlds in the kinematic simulator."""
    out = tmp_path_factory.mktemp("strangers") / "out"
    smoke = share_directory() / "config" / "smoke_campaign.yaml"
    options = ["--simulator", "kinematic", "--workers", "1", "--planners", "straight"]
    assert main(["run", str(smoke), "--out", str(out), "--worlds", "2", *options]) == 0
    (out / ".lock").unlink()
    return out


def change_campaign(directory, change):
    data = json.loads((directory / "campaign.json").read_text())
    change(data)
    (directory / "campaign.json").write_text(json.dumps(data))


def xacro(directory, model):
    """Name a xacro file as the model of the robot and of an actor, with an environment."""
    (directory / "evil.xacro").write_text(EVIL.format(directory.parent / "ran"))
    actor = {"name": "a", "behavior": "patrol", "waypoints_m": [[0, 0], [1, 0]], "model": model}

    def change(data):
        data["robot"].update(model=model, xacro={"environment": {"PYTHONPATH": str(directory)}})
        data["actors"] = [actor]

    change_campaign(directory, change)


def world_in_xacro(directory):
    """Name a xacro file as the base world and as a model of an obstacle."""
    world = directory / "evil.world.xacro"
    world.write_text(EVIL.format(directory.parent / "ran"))

    def change(data):
        data["worlds"].update(base=str(world), xacro={"arguments": {}})
        group = {"type": "model", "model": str(world), "count": 1}
        data["worlds"]["obstacles"]["obstacles"] = [group]

    change_campaign(directory, change)


def included_xacro(directory):
    """Include a xacro file in the stored worlds of a directory."""
    (directory / "evil.sdf.xacro").write_text(EVIL.format(directory.parent / "ran"))
    include = f"<include><uri>file://{directory / 'evil.sdf.xacro'}</uri></include></world>"
    for world in (directory / "worlds").glob("*.world"):
        world.write_text(world.read_text().replace("</world>", include))
        digest = hashlib.sha256(world.read_bytes()).hexdigest()
        execute(directory, f"UPDATE worlds SET sha256 = '{digest}' WHERE name = '{world.stem}'")

    def change(data):
        worlds = {"base": None, "obstacles": None, "directory": str(directory / "worlds")}
        data["worlds"].update(worlds, xacro={"arguments": {}})

    change_campaign(directory, change)


def journal(directory):
    content = super_journal(directory.parent / "precious")
    (directory / "results.sqlite-journal").write_bytes(content)


def execute(directory, statement):
    connection = sqlite3.connect(str(directory / "results.sqlite"))
    with contextlib.closing(connection), connection:
        connection.execute(statement)


def link(name):
    def plant(directory):
        path = directory / name
        if path.is_dir():
            shutil.rmtree(path)
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        path.symlink_to(directory.parent / ("folder" if "." not in name[1:] else "precious"))

    return plant


ATTACKS = {
    "relative xacro": lambda directory: xacro(directory, "evil.xacro"),
    "absolute xacro": lambda directory: xacro(directory, str(directory / "evil.xacro")),
    "world in xacro": world_in_xacro,
    "included xacro": included_xacro,
    "super-journal": journal,
    "name of a world": lambda directory: execute(
        directory, "UPDATE worlds SET name = '../../../' || name"
    ),
    "lock": link(".lock"),
    "recordings": link("trajectories"),
    "worlds": link("worlds"),
    "page": link("report.html"),
    "partial page": link("report.html.partial"),
    "explanation": link("explain.json.partial"),
}
"""Functions that plant an attack into a results directory, by name."""

READING = (
    "report {results}",
    "report {results} --json",
    "report {results} --html {out}/page.html --csv {out}/a.csv --latex {out}/a.tex",
    "report {results} --figures {out}/figures",
    "report {results} --plots {out}/plots --workers 1",
    "compare {results} {own} --html {out}/compared.html",
    "gate {results} --planner straight --min-success 0.1 --junit {out}/gate.xml",
    "explain {results}",
    "watch {results} --once",
    "power {results}",
    "pack {results} --out {out}/packed.zip",
    "unpack {results} --out {out}/unpacked",
    "doctor {results}/campaign.json",
)
"""The command lines that only read results."""


def listing(folder, without=()):
    """Return the type and content of each file of a folder, by its path."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name.partition("/")[0] in without:
            continue
        if path.is_symlink():
            found[name] = os.readlink(path)
        elif path.is_file():
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            found[name] = "folder"
    return found


def zipped(directory, file):
    """Write a pack of a directory without the checks of ``pack``."""
    lines = []
    with zipfile.ZipFile(file, "w") as archive:
        for path in sorted(directory.rglob("*")):
            if path.is_file():
                name, content = path.relative_to(directory).as_posix(), path.read_bytes()
                archive.writestr(name, content)
                lines.append(f"{hashlib.sha256(content).hexdigest()}  {name}\n")
        archive.writestr("checksums.sha256", "".join(lines))
    return file


@pytest.mark.slow
@pytest.mark.parametrize(
    ("packed", "attack"),
    [
        *((False, name) for name in ATTACKS),
        *((True, name) for name in list(ATTACKS)[:6]),  # a pack has no links
    ],
)
def test_reading_runs_no_program_and_changes_no_other_file(campaign, tmp_path, packed, attack):
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "folder").mkdir()
    (tmp_path / "out").mkdir()
    results = tmp_path / "results"
    shutil.copytree(campaign, results)
    ATTACKS[attack](results)
    if packed:
        results = zipped(results, tmp_path / "results.zip")
    before = listing(tmp_path, without=["out"])
    for line in READING:
        with contextlib.suppress(SystemExit):
            main(line.format(results=results, out=tmp_path / "out", own=campaign).split())
    with contextlib.ExitStack() as stack, contextlib.suppress(GzTestautoError):
        opened = stack.enter_context(open_results(results))
        stack.enter_context(PageServer(opened, 0)).page()
    with contextlib.suppress(GzTestautoError):
        gz_testauto.load(results).plot("world_0000")
    after = listing(tmp_path, without=["out"])
    for name in ("results/explain.json", "results/report.html"):  # the outputs of explain
        if before.get(name) != str(tmp_path / "precious"):
            before.pop(name, None)
            after.pop(name, None)
    assert after == before


@pytest.mark.slow
def test_reading_as_an_ordinary_user_runs_no_program_either(tmp_path):
    """The user can read all files, but writes only where an ordinary user can."""
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    user += ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("needs root and setpriv, to change the user")
    if subprocess.run([*user, "true"], check=False).returncode:
        pytest.skip("setpriv cannot change the user here")
    name = test_reading_runs_no_program_and_changes_no_other_file.__name__
    place = tmp_path / "home"
    place.mkdir()
    os.chown(place, 65534, 65534)
    options = ["-q", "-p", "no:cacheprovider", f"--basetemp={place / 'tests'}", "-k", name]
    # A new home has no compiled code of numba.
    environment = {**os.environ, "HOME": str(place), "TMPDIR": str(place), "NUMBA_DISABLE_JIT": "1"}
    command = [*user, sys.executable, "-m", "pytest", str(Path(__file__)), *options]
    done = subprocess.run(
        command, env=environment, cwd=str(place), capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout[-3000:]


RUNNING = (
    ("replay", "{}", "0", "straight"),
    ("perturb", "{}", "0", "straight"),
    ("shrink", "{}", "0", "straight"),
    ("perturb", "{}", "--workers", "1"),
    ("doctor", "{}/campaign.json"),
    ("run", "{}/campaign.json", "--out", "{}"),
    ("search", "{}/campaign.json", "--out", "{}", "--budget", "4"),
    ("boundary", "{}/campaign.json", "--out", "{}", "--vary", "goal.x_m=1:2", "--budget", "9"),
    (
        "tune",
        "{}/campaign.json",
        "--out",
        "{}",
        "--parameters",
        "{}/campaign.json",
        "--budget",
        "2",
    ),
)
"""The command lines that run trials of results."""


@pytest.mark.parametrize(
    "command",
    [command for command in RUNNING if command[0] in VERBS.names()],
    ids=lambda command: command[0] + str(len(command)),
)
def test_commands_that_run_trials_list_the_programs_and_run_none(
    campaign, tmp_path, monkeypatch, capsys, command
):
    results = tmp_path / "results"
    shutil.copytree(campaign, results)
    xacro(results, str(results / "evil.xacro"))
    monkeypatch.setattr("sys.stdin", None)
    before = listing(results, without=[".lock"])
    assert main([part.format(results) for part in command]) in (1, 2)
    message = "".join(capsys.readouterr())
    assert f"xacro file {results / 'evil.xacro'}" in " ".join(message.split())
    assert "use --trust" in message
    assert listing(results, without=[".lock"]) == before
    assert not (tmp_path / "ran").exists()


def test_a_replay_in_python_requires_trust(campaign, tmp_path):
    results = tmp_path / "results"
    shutil.copytree(campaign, results)
    xacro(results, str(results / "evil.xacro"))
    with pytest.raises(GzTestautoError, match="use --trust"):
        gz_testauto.load(results).replay("world_0000", "straight")
    assert not (tmp_path / "ran").exists()


def test_plugins_of_stored_worlds_are_listed(campaign, tmp_path):
    world = tmp_path / "w.world"
    world.write_text(
        '<sdf version="1.6"><world name="w"><plugin name="p" filename="evil.so"/></world></sdf>'
    )
    spec, _ = read_campaign(CampaignDirectory(campaign))
    require_trust([spec], [world])
    spec = spec.model_copy(update={"simulator": "gazebo"})
    require_trust([spec], [world], is_trusted=True)
    with pytest.raises(GzTestautoError, match=r"plugin evil\.so in 1 world"):
        require_trust([spec], [world])
