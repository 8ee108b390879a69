"""URIs are resolved to files."""

import sys
from pathlib import Path

import pytest

from gz_testauto.base import resources
from gz_testauto.base.errors import ResourceError


def test_plain_path_is_relative_to_the_given_file_or_directory(tmp_path):
    spec = tmp_path / "config" / "a.yaml"
    spec.parent.mkdir()
    spec.touch()
    assert resources.resolve("../b.world", spec) == tmp_path / "b.world"
    assert resources.resolve("b.world", tmp_path) == tmp_path / "b.world"
    assert resources.resolve("/x/y", spec) == Path("/x/y")
    assert resources.resolve("~/y", spec) == Path.home() / "y"


def test_file_uri_is_resolved_on_the_resource_path_of_gazebo(tmp_path, monkeypatch):
    media = tmp_path / "media"
    media.mkdir()
    (media / "a.png").touch()
    monkeypatch.setenv("GAZEBO_RESOURCE_PATH", f"/nowhere:{tmp_path}")
    assert resources.resolve("file:///a b/c", tmp_path) == Path("/a b/c")
    assert resources.resolve("file://media/a.png", Path("/elsewhere")) == media / "a.png"


@pytest.mark.parametrize("folder", ["models", "media/models", "Media/models"])
def test_file_uri_is_found_in_media_folders_of_the_resource_path(tmp_path, monkeypatch, folder):
    mesh = tmp_path / folder / "a.stl"
    mesh.parent.mkdir(parents=True)
    mesh.touch()
    monkeypatch.setenv("GAZEBO_RESOURCE_PATH", str(tmp_path))
    assert resources.resolve("file://a.stl", Path("/elsewhere")) == mesh


def test_model_uri_is_searched_in_the_order_of_the_path(tmp_path):
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    (tmp_path / "second" / "box").mkdir()
    path = [tmp_path / "first", tmp_path / "second"]
    assert resources.resolve("model://box", tmp_path, path) == tmp_path / "second" / "box"
    (tmp_path / "first" / "box").mkdir()
    assert resources.resolve("model://box", tmp_path, path) == tmp_path / "first" / "box"
    assert resources.resolve("model:///box", tmp_path, path) == tmp_path / "first" / "box"


def test_model_uri_with_wrong_case_is_rejected_with_the_correct_spelling(tmp_path):
    mesh = tmp_path / "second" / "Shelf" / "meshes" / "Shelf.DAE"
    mesh.parent.mkdir(parents=True)
    mesh.touch()
    path = [tmp_path / "first", tmp_path / "second"]
    with pytest.raises(ResourceError, match=r"did you mean model://Shelf\?") as caught:
        resources.resolve("model://shelf", tmp_path, path)
    assert str(caught.value).endswith("GAZEBO_MODEL_PATH")
    suggestion = r"meshes/shelf\.dae; did you mean model://Shelf/meshes/Shelf\.DAE\?$"
    with pytest.raises(ResourceError, match=suggestion):
        resources.resolve("model://Shelf/meshes/shelf.dae", tmp_path, path)


def test_missing_file_of_an_existing_model_is_not_searched_in_other_directories(tmp_path):
    (tmp_path / "shelf").mkdir()
    with pytest.raises(ResourceError) as caught:
        resources.resolve("model://shelf/meshes/a.dae", tmp_path, [tmp_path])
    assert f"{tmp_path}/shelf has no meshes/a.dae" in str(caught.value)
    assert "GAZEBO_MODEL_PATH" not in str(caught.value)


def test_model_path_contains_package_environment_and_home_in_this_order(tmp_path, monkeypatch):
    monkeypatch.setenv("GAZEBO_MODEL_PATH", f"{tmp_path}::/other")
    found = resources.model_path()
    assert found[0] == resources.share_directory() / "models"
    assert found[1:] == (tmp_path, Path("/other"), Path.home() / ".gazebo" / "models")


def test_uri_of_this_package_is_resolved_without_ros(monkeypatch):
    monkeypatch.setitem(sys.modules, "rospkg", None)
    expected = resources.share_directory() / "models"
    assert resources.resolve("package://gz_testauto/models", Path("/")) == expected


def test_missing_package_is_rejected_with_its_name():
    with pytest.raises(ResourceError, match=r"'no_such_package' was not found.*ROS_PACKAGE_PATH"):
        resources.resolve("package://no_such_package/models", Path("/"))


def test_missing_package_with_a_similar_name_names_the_similar_package(monkeypatch):
    monkeypatch.setattr(resources, "ros_packages", lambda: {"gazebo_ros": Path("/opt")})
    with pytest.raises(ResourceError, match="did you mean 'gazebo_ros'"):
        resources.resolve("package://gazebo_rso/launch", Path("/"))
    with pytest.raises(ResourceError) as error:
        resources.resolve("package://gazebo_msgs/launch", Path("/"))
    assert "did you mean" not in str(error.value)


@pytest.mark.parametrize("with_rospkg", [True, False])
def test_package_is_found_in_ros_package_path(tmp_path, monkeypatch, with_rospkg):
    if not with_rospkg:
        monkeypatch.setitem(sys.modules, "rospkg", None)
    package = tmp_path / "folder"
    package.mkdir()
    (package / "package.xml").write_text("<package><name>some_package</name></package>")
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path))
    found = resources.resolve("package://some_package/a.stl", Path("/"))
    assert found == package / "a.stl"


def test_own_and_neighboring_packages_of_a_file_are_found_without_a_workspace(tmp_path):
    for folder, name in (("downloaded", "own_package"), ("neighbor", "neighbor")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "package.xml").write_text(f"<package><name>{name}</name></package>")
    urdf = tmp_path / "downloaded" / "urdf" / "bot.urdf"
    own = resources.resolve("package://own_package/a.stl", urdf)
    assert own == tmp_path / "downloaded" / "a.stl"
    assert resources.resolve("package://neighbor/a.stl", urdf) == tmp_path / "neighbor" / "a.stl"


def test_unknown_scheme_is_rejected_with_the_supported_ones():
    expected = "file://, package:// or model://; .*download .*GAZEBO_MODEL_PATH"
    with pytest.raises(ResourceError, match=expected):
        resources.resolve("https://example.org/x", Path("/"))


def test_installed_package_finds_its_share_directory(tmp_path, monkeypatch):
    code = tmp_path / "lib" / "python3" / "dist-packages" / "gz_testauto" / "base" / "resources.py"
    share = tmp_path / "share" / "gz_testauto"
    (share / "models").mkdir(parents=True)
    monkeypatch.setattr(resources, "__file__", str(code))
    assert resources.share_directory() == share


def test_missing_share_directory_is_reported_with_a_remedy(tmp_path, monkeypatch):
    code = tmp_path / "a" / "b" / "c" / "d" / "resources.py"
    monkeypatch.setattr(resources, "__file__", str(code))
    monkeypatch.setattr(resources.sysconfig, "get_path", lambda name: str(tmp_path))
    with pytest.raises(ResourceError, match="install the package again"):
        resources.share_directory()


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ("<model/>", "no <sdf> file"),
        ("<model><sdf>absent.sdf</sdf></model>", r"'absent\.sdf', which does not exist"),
    ],
)
def test_model_config_without_an_existing_sdf_file_is_rejected(tmp_path, config, problem):
    (tmp_path / "model.config").write_text(config)
    with pytest.raises(ResourceError, match=problem):
        resources.model_file(tmp_path)


@pytest.mark.parametrize("other", ["1." + "9" * 5000, "1" * 5000, "1.8", "x", "²", ""])
def test_model_config_with_several_versions_returns_the_newest_supported(tmp_path, other):
    named = f"<sdf version='{other}'>b.sdf</sdf><sdf version='1.06'>a.sdf</sdf>"
    (tmp_path / "model.config").write_text(f"<model>{named}</model>", encoding="utf-8")
    for name in ("a.sdf", "b.sdf"):
        (tmp_path / name).touch()
    assert resources.model_file(tmp_path) == tmp_path / "a.sdf"


def test_directory_with_only_model_sdf_is_a_model(tmp_path):
    (tmp_path / "model.sdf").touch()
    assert resources.model_file(tmp_path) == tmp_path / "model.sdf"


@pytest.mark.parametrize("name", ["x" * 256, "a/" * 1500, "a\0b"])
def test_impossible_file_name_is_rejected(tmp_path, name):
    with pytest.raises(ResourceError, match="cannot be a file name"):
        resources.resolve(name, tmp_path)
    if "\0" not in name:
        (tmp_path / "model.config").write_text(f"<model><sdf version='1.6'>{name}</sdf></model>")
        with pytest.raises(ResourceError, match="cannot be a file name"):
            resources.model_file(tmp_path)


def test_home_of_an_unknown_user_is_rejected(tmp_path):
    with pytest.raises(ResourceError, match=r"~nobody_here/x.world: .* write the path without ~"):
        resources.resolve("~nobody_here/x.world", tmp_path)
