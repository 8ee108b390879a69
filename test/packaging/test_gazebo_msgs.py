"""The overlay's definitions and the installed packages have the MD5 sums of Noetic."""

from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
OVERLAY = CHECKOUT / "overlay" / "gazebo_msgs"
SUMS = dict(
    line.split()
    for line in Path(__file__).with_name("gazebo_msgs_md5.txt").read_text().splitlines()
)
# Definitions whose sums were not recorded; each is one string and an empty answer.
WITHOUT_SUM = {"gazebo_msgs/BodyRequest", "gazebo_msgs/JointRequest"}


def md5_of_definition(path: Path) -> str:
    """The sum that genmsg computes from a ``.msg`` or ``.srv`` file of the overlay."""
    genmsg = pytest.importorskip("genmsg", reason="needs ROS 1: genmsg computes the sums")
    from genmsg import gentools, msg_loader
    from rospkg import RosPack

    packages = RosPack()
    needed = ("std_msgs", "geometry_msgs", "trajectory_msgs")
    search_path = {name: [str(Path(packages.get_path(name)) / "msg")] for name in needed}
    search_path["gazebo_msgs"] = [str(OVERLAY / "msg")]
    context = genmsg.MsgContext.create_default()
    name = f"gazebo_msgs/{path.stem}"
    load = msg_loader.load_msg_from_file if path.suffix == ".msg" else msg_loader.load_srv_from_file
    spec = load(context, str(path), name)
    msg_loader.load_depends(context, spec, search_path)
    return gentools.compute_md5(context, spec)


def definitions():
    return {
        f"gazebo_msgs/{path.stem}": path
        for path in sorted(OVERLAY.glob("msg/*.msg")) + sorted(OVERLAY.glob("srv/*.srv"))
    }


def test_overlay_has_all_message_definitions_of_noetic():
    assert len(SUMS) == 32
    assert set(definitions()) == set(SUMS) | WITHOUT_SUM


@pytest.mark.ros
@pytest.mark.parametrize("name", sorted(SUMS))
def test_overlay_definition_has_the_md5_sum_of_noetic(name):
    assert md5_of_definition(definitions()[name]) == SUMS[name]


@pytest.mark.ros
def test_the_installed_gazebo_msgs_have_the_md5_sums_of_noetic():
    messages = pytest.importorskip("gazebo_msgs.msg", reason="needs a built gazebo_msgs")
    import gazebo_msgs.srv as services

    in_use = {
        name: getattr(messages, name.split("/")[1], None) or getattr(services, name.split("/")[1])
        for name in SUMS
    }
    assert {name: kind._md5sum for name, kind in in_use.items()} == SUMS


@pytest.mark.ros
def test_messages_for_teb_have_the_md5_sums_of_costmap_converter():
    messages = pytest.importorskip("costmap_converter.msg", reason="needs costmap_converter built")
    assert messages.ObstacleMsg._md5sum == "a37f90c2e2437cb2b570855e1c703488"
    assert messages.ObstacleArrayMsg._md5sum == "8a1bdcde72c65ca7d3ce8ebf52d43516"
