"""Search for Gazebo, and the errors if it is not found."""

import os
import stat

import pytest

from gz_testauto.base.errors import MissingDependencyError
from gz_testauto.simulators.gazebo.installation import (
    ROOT_VARIABLE,
    cache_directory,
    find_gazebo,
)

SERVER = '#!/bin/sh\necho "Gazebo multi-robot simulator, version {version}"\n'
LOADER = '#!/bin/sh\nshift 2\nexec "$@"\n'  # arguments: --library-path, its value, the command


def write_script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def make_tree(root, version="11.1.0"):
    write_script(root / "usr/bin/gzserver", SERVER.format(version=version))
    write_script(root / "lib/x86_64-linux-gnu/ld-2.31.so", LOADER)
    (root / "usr/share/gazebo-11/models").mkdir(parents=True)
    (root / "usr/lib/x86_64-linux-gnu/gazebo-11/plugins").mkdir(parents=True)
    return root


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch, tmp_path):
    monkeypatch.delenv(ROOT_VARIABLE, raising=False)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    if any(os.path.exists(f"{place}/gzserver") for place in ("/usr/bin", "/bin")):
        pytest.skip("this machine has a Gazebo in /usr/bin")


def test_missing_gazebo_error_contains_the_remedy():
    with pytest.raises(MissingDependencyError) as refusal:
        find_gazebo()
    for part in (ROOT_VARIABLE, "PATH", "bootstrap", str(cache_directory())):
        assert part in str(refusal.value)


def test_unpacked_tree_is_started_with_its_own_loader(monkeypatch, tmp_path):
    monkeypatch.setenv(ROOT_VARIABLE, str(make_tree(tmp_path / "tree")))
    found = find_gazebo()
    assert (found.kind, found.version) == ("tree", "11.1.0")
    assert found.server[0].endswith("ld-2.31.so")
    assert str(tmp_path / "tree/usr/lib/x86_64-linux-gnu") in found.server[2]


def test_gazebo_on_path_has_priority_over_the_cache(monkeypatch, tmp_path):
    make_tree(cache_directory(), "11.1.0")
    write_script(tmp_path / "bin/gzserver", SERVER.format(version="11.14.0"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    found = find_gazebo()
    assert (found.kind, found.version) == ("system", "11.14.0")


def test_cache_is_used_without_another_gazebo():
    make_tree(cache_directory())
    assert find_gazebo().kind == "tree"


def test_specified_tree_without_gazebo_is_rejected_despite_the_cache(monkeypatch, tmp_path):
    make_tree(cache_directory())
    monkeypatch.setenv(ROOT_VARIABLE, str(tmp_path))
    with pytest.raises(MissingDependencyError, match="usr/bin/gzserver"):
        find_gazebo()


def test_unsupported_gazebo_version_is_rejected(monkeypatch, tmp_path):
    monkeypatch.setenv(ROOT_VARIABLE, str(make_tree(tmp_path / "tree", "9.0.0")))
    with pytest.raises(MissingDependencyError, match=r"Gazebo 9\.0\.0; "):
        find_gazebo()


def test_gazebo_that_does_not_start_is_rejected_with_its_output(monkeypatch, tmp_path):
    tree = make_tree(tmp_path / "tree")
    write_script(tree / "usr/bin/gzserver", "#!/bin/sh\necho 'lib is gone' >&2\nexit 1\n")
    monkeypatch.setenv(ROOT_VARIABLE, str(tree))
    with pytest.raises(MissingDependencyError, match="lib is gone"):
        find_gazebo()


def test_environment_has_loopback_and_the_specified_model_path(monkeypatch, tmp_path):
    monkeypatch.setenv(ROOT_VARIABLE, str(make_tree(tmp_path / "tree")))
    monkeypatch.setenv("GAZEBO_MODEL_PATH", "/theirs")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/ros/lib")
    environment = find_gazebo().process_environment(4711, model_path=[tmp_path / "ours"])
    assert environment["GAZEBO_MASTER_URI"] == "http://127.0.0.1:4711"
    assert environment["GAZEBO_IP"] == "127.0.0.1"
    assert environment["GAZEBO_MODEL_DATABASE_URI"].startswith("http://127.0.0.1:")
    assert environment["GAZEBO_MODEL_PATH"].split(":")[:2] == [str(tmp_path / "ours"), "/theirs"]
    assert "LD_LIBRARY_PATH" not in environment


def test_version_call_is_repeated_after_a_signal(monkeypatch, tmp_path):
    make_tree(tmp_path)
    once = tmp_path / "killed"
    answer = SERVER.format(version="11.1.0").replace(
        "#!/bin/sh", f"#!/bin/sh\n[ -e {once} ] || {{ touch {once}; kill -9 $$; }}"
    )
    write_script(tmp_path / "usr/bin/gzserver", answer)
    monkeypatch.setenv(ROOT_VARIABLE, str(tmp_path))
    assert find_gazebo().version == "11.1.0"
    assert once.exists()
