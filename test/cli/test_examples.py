"""Examples by name and as copies, help texts, and commands that install extras."""

import re
import subprocess
import sys

import pytest
import yaml

from gz_testauto.base import installation
from gz_testauto.base.errors import MissingDependencyError, ResourceError, SpecError
from gz_testauto.base.installation import install_command
from gz_testauto.base.resources import share_directory
from gz_testauto.campaign.campaign_files import campaign_path, read_campaign_spec
from gz_testauto.cli import init
from gz_testauto.cli.main import VERBS, help_text, main
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.loader import load


def test_copied_example_is_a_campaign_with_its_own_worlds(tmp_path, capsys):
    out = tmp_path / "mine"
    assert main(["init", str(out)]) == 0
    spec = load(out / "config" / "example_campaign.yaml", CampaignSpec)
    assert spec.worlds.base == out / "worlds" / "arena.world"
    assert str(out) in capsys.readouterr().out


def test_copied_notebooks_are_named_and_have_no_results(tmp_path, monkeypatch, capsys):
    share = tmp_path / "share"
    for folder in ("config", "models", "worlds", "examples/results"):
        (share / folder).mkdir(parents=True)
    (share / "examples" / "1_lesson.ipynb").write_text("{}")
    monkeypatch.setattr(init, "share_directory", lambda: share)
    assert main(["init", str(tmp_path / "mine")]) == 0
    assert capsys.readouterr().err.endswith("lessons for jupyter lab:\n  examples/1_lesson.ipynb\n")
    assert [path.name for path in (tmp_path / "mine" / "examples").iterdir()] == ["1_lesson.ipynb"]


def test_copied_examples_find_all_files_that_they_name(tmp_path):
    out = tmp_path / "mine"
    assert main(["init", str(out)]) == 0
    named = [
        (path, name)
        for path in sorted((share_directory() / "config").rglob("*.yaml"))
        for name in re.findall(r"(?:\.\./)+[\w./-]+", path.read_text(encoding="utf-8"))
        if (path.parent / name).exists()
    ]
    assert len(named) > 10
    for path, name in named:
        copy = out / path.relative_to(share_directory())
        assert (copy.parent / name).exists(), f"{copy}: {name}"


def test_copies_of_examples_overwrite_no_file(tmp_path, capsys):
    (tmp_path / "config").mkdir()
    assert main(["init", str(tmp_path)]) == 2
    assert f"{tmp_path / 'config'}: exists" in capsys.readouterr().err
    assert not (tmp_path / "worlds").exists()


@pytest.mark.parametrize(
    "text",
    ["example", "example_campaign.yaml", "package://gz_testauto/config/example_campaign.yaml"],
)
def test_installed_example_is_found_by_its_name_or_uri(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert campaign_path(text) == share_directory() / "config" / "example_campaign.yaml"


def test_existing_file_has_priority_over_an_installed_example(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "example").write_text("")
    assert str(campaign_path("example")) == "example"


def test_unknown_name_stays_a_path_and_an_unknown_scheme_is_rejected():
    assert str(campaign_path("nothing_like_this")) == "nothing_like_this"
    with pytest.raises(ResourceError, match="ftp://x"):
        campaign_path("ftp://x")


class Installed:
    version = "1.2"

    def __init__(self, text):
        self.text = text

    def read_text(self, name):
        return self.text


@pytest.mark.parametrize(
    "origin, expected",
    [
        (None, "'gz_testauto[plot]==1.2'"),
        ('{"url": "file:///a b/c", "dir_info": {}}', "'/a b/c[plot]'"),
        ('{"url": "file:///x", "dir_info": {"editable": true}}', "-e '/x[plot]'"),
        (
            '{"url": "https://h/r.git", "vcs_info": {"vcs": "git", "commit_id": "ab"}}',
            "'gz_testauto[plot] @ git+https://h/r.git@ab'",
        ),
        ('{"url": "https://h/x.whl", "archive_info": {}}', "'gz_testauto[plot] @ https://h/x.whl'"),
    ],
)
def test_command_for_an_extra_has_the_source_of_the_installation(
    monkeypatch, tmp_path, origin, expected
):
    monkeypatch.setattr(installation.metadata, "distribution", lambda name: Installed(origin))
    monkeypatch.setattr(installation, "share_directory", lambda: tmp_path)  # no checkout
    assert install_command("plot") == f"{sys.executable} -m pip install {expected}"


@pytest.fixture
def not_of_bootstrap(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "prefix", str(tmp_path))


@pytest.mark.usefixtures("not_of_bootstrap")
def test_command_for_an_extra_names_the_checkout_in_which_a_build_left_metadata(monkeypatch):
    monkeypatch.setattr(installation.metadata, "distribution", lambda name: Installed(None))
    assert install_command("plot").endswith(f"'{share_directory()}[plot]'")


@pytest.mark.usefixtures("not_of_bootstrap")
def test_command_for_an_extra_names_the_checkout_if_nothing_is_installed(monkeypatch):
    def missing(name):
        raise installation.metadata.PackageNotFoundError

    monkeypatch.setattr(installation.metadata, "distribution", missing)
    assert install_command("plot").endswith(f"'{share_directory()}[plot]'")


def test_examples_without_default_values_are_the_same_campaigns():
    # "shrink" and "tune" write campaigns without default values.
    for path in sorted((share_directory() / "config").rglob("*.yaml")):
        keys = yaml.safe_load(path.read_text(encoding="utf-8"))
        if not {"worlds", "planners"} <= set(keys):
            continue
        try:
            spec = read_campaign_spec(path)
        except (SpecError, MissingDependencyError):
            continue  # it needs files or extras that are not here
        data = spec.model_dump(mode="json", exclude_defaults=True)
        assert type(spec).model_validate(data) == spec, path


@pytest.mark.parametrize("verb", VERBS.names())
def test_help_of_each_verb_fits_80_columns_and_states_exit_statuses(verb, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main([verb, "--help"])
    text = capsys.readouterr().out
    assert [line for line in text.splitlines() if len(line) > 80] == []
    assert "exit status" in text.lower()


OPTIONAL = "dask distributed fcl gymnasium matplotlib pandas pettingzoo psutil py_trees pybullet \
pyxodr rosbags scenic shtab sklearn stable_baselines3 torch"
WITHOUT_THEM = """
import sys
class Missing:
    def find_spec(name, path=None, target=None):
        if name.split(".")[0] in sys.argv[1].split():
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Missing)
from gz_testauto.cli.main import VERBS, main
for verb in VERBS.names():
    try:
        main([verb, "--help"])
        sys.exit(verb)
    except SystemExit as end:
        assert end.code == 0, end.code
"""


@pytest.mark.slow
def test_help_of_each_verb_needs_no_library_of_an_extra():
    subprocess.run([sys.executable, "-c", WITHOUT_THEM, OPTIONAL], check=True, timeout=120)


def test_long_example_is_continued_by_a_backslash():
    command = "  gz_testauto run a.yaml --out " + "b" * 40 + " --failed-of c --workers 3"
    text = help_text(f"Run.\n\nexample:\n{command}\n")
    assert " \\\n      --" in text
    assert text.split("example:\n")[1].replace(" \\\n     ", "") == command


def test_options_cannot_be_abbreviated(capsys):
    with pytest.raises(SystemExit):
        main(["run", "example", "--out", "x", "--worker", "1"])
    assert "--worker" in capsys.readouterr().err
