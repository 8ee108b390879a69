"""Temporary directories of processes that were killed."""

import os
import subprocess
import sys
import tempfile

from gz_testauto.base.scratch import scratch_directory

KILLED = """
import os, signal
from gz_testauto.base.scratch import scratch_directory
with scratch_directory() as directory:
    directory.joinpath("pack").mkdir()
    directory.joinpath("pack", "results").write_text("")
    directory.joinpath("pack").chmod(0o500)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_directories_of_killed_processes_are_removed_and_no_others(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    foreign = tmp_path / "gz_testauto_scratch_without_a_lock"
    foreign.mkdir()
    with scratch_directory() as living:
        assert list(living.iterdir()) == []
        environment = {**os.environ, "TMPDIR": str(tmp_path)}
        subprocess.run([sys.executable, "-c", KILLED], env=environment, timeout=60)
        (orphan,) = set(tmp_path.iterdir()) - {foreign, living.parent}
        assert (orphan / "files" / "pack").is_dir()
        with scratch_directory() as another:
            assert set(tmp_path.iterdir()) == {foreign, living.parent, another.parent}
    assert list(tmp_path.iterdir()) == [foreign]
