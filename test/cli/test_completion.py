"""``gz_testauto completion`` prints a script with which bash completes commands."""

import contextlib
import shutil
import subprocess

import pytest

from gz_testauto.cli.main import VERBS, main

pytestmark = pytest.mark.slow

pytest.importorskip("shtab", reason="the extra completion is not installed")

ASK = """
. "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
function=$(complete -p gz_testauto | sed 's/.*-F \\([^ ]*\\).*/\\1/')
"$function" gz_testauto "${COMP_WORDS[COMP_CWORD]}" ""
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def completed(tmp_path_factory):
    """A function that returns the completions of a command line in a folder with two files."""
    folder = tmp_path_factory.mktemp("completion")
    script = folder / "script"
    (folder / "campaign.yaml").touch()
    with open(script, "w") as file, contextlib.redirect_stdout(file):
        assert main(["completion", "bash"]) == 0

    def complete(*words):
        done = subprocess.run(
            ["bash", "-c", ASK, "bash", str(script), "gz_testauto", *words],
            stdout=subprocess.PIPE,
            check=True,
            text=True,
            cwd=folder,
        )
        return done.stdout.split()

    return complete


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes_each_verb(completed):
    assert set(completed("")) >= set(VERBS.names())


def test_bash_completes_options_of_a_verb(completed):
    assert completed("run", "--work") == ["--workers"]


def test_bash_completes_files(completed):
    assert completed("run", "camp") == ["campaign.yaml"]
