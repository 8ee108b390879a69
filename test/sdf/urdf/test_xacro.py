"""xacro files are expanded with the arguments and environment of the campaign."""

import pytest

from gz_testauto.base.errors import SdfError
from gz_testauto.sdf.urdf.xacro import XacroInput, expand_xacro

XACRO = """<robot name="bot" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:arg name="mass" default="1"/>
<xacro:include filename="$(find bot_description)/urdf/wheel.xacro"/>
<link name="base"><inertial><mass value="$(arg mass)"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<xacro:if value="$(optenv BOT_LASER 0)"><link name="laser"/></xacro:if>
<xacro:wheel name="left"/>
</robot>"""
WHEEL = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:macro name="wheel" params="name"><link name="${name}_wheel"/></xacro:macro></robot>"""


@pytest.fixture
def description(tmp_path, monkeypatch):
    """Return a xacro file in a downloaded package without a workspace."""
    monkeypatch.delenv("ROS_PACKAGE_PATH", raising=False)
    package = tmp_path / "downloaded"
    (package / "urdf").mkdir(parents=True)
    (package / "package.xml").write_text("<package><name>bot_description</name></package>")
    (package / "urdf" / "wheel.xacro").write_text(WHEEL)
    path = package / "urdf" / "bot.urdf.xacro"
    path.write_text(XACRO)
    return path


@pytest.mark.slow  # xacro runs in a process
def test_macros_arguments_and_environment_are_expanded(description):
    plain = expand_xacro(description, XacroInput())
    assert b'<link name="left_wheel"/>' in plain
    assert b'<mass value="1"/>' in plain
    assert b"laser" not in plain
    chosen = expand_xacro(description, XacroInput({"mass": "2.5"}, {"BOT_LASER": "1"}))
    assert b'<mass value="2.5"/>' in chosen
    assert b'<link name="laser"/>' in chosen


@pytest.mark.slow
def test_a_missing_package_is_reported_with_its_name(description):
    description.write_text(XACRO.replace("find bot_description", "find no_such_package"))
    with pytest.raises(SdfError, match="'no_such_package' was not found") as error:
        expand_xacro(description, XacroInput())
    assert str(description) in error.value.full


def test_missing_file_is_reported_without_xacro(tmp_path):
    with pytest.raises(SdfError, match=r"none\.world\.xacro: cannot be read: No such file"):
        expand_xacro(tmp_path / "none.world.xacro", XacroInput())


@pytest.mark.slow
def test_an_error_of_xacro_is_reported_with_its_cause(description):
    description.write_text(XACRO.replace("$(arg mass)", "${undefined}"))
    with pytest.raises(SdfError, match="'undefined' is not defined"):
        expand_xacro(description, XacroInput())


@pytest.mark.slow
@pytest.mark.parametrize(
    "missing, keys, remedy",
    [
        ("$(arg prefix)", "{arguments: {prefix: VALUE}}", "Add a default to its <xacro:arg>"),
        ("$(env BOT_PREFIX)", "{environment: {BOT_PREFIX: VALUE}}", "Set BOT_PREFIX"),
    ],
)
def test_message_names_the_key_for_a_missing_value(description, missing, keys, remedy):
    description.write_text(XACRO.replace('name="base"', f'name="{missing}"'))
    with pytest.raises(SdfError) as error:
        expand_xacro(description, XacroInput(key="worlds.xacro"))
    assert f"Add worlds.xacro: {keys} to the campaign file" in str(error.value)
    with pytest.raises(SdfError, match=remedy):  # a command without a campaign
        expand_xacro(description, XacroInput())
