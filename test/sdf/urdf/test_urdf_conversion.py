"""URDF is converted to SDF as by Gazebo 11."""

import math
import subprocess
import tempfile
from pathlib import Path

import pytest
from lxml import etree

from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.urdf.converter import convert_urdf
from gz_testauto.simulators.gazebo.installation import find_gazebo

INERTIAL = (
    '<inertial>{origin}<mass value="{mass}"/>'
    '<inertia ixx="{i}" ixy="0" ixz="0" iyy="{i}" iyz="0" izz="{i}"/></inertial>'
)
BOX = '<collision{name}>{origin}<geometry><box size="0.4 0.2 0.1"/></geometry></collision>'


def origin(xyz="0 0 0", rpy="0 0 0"):
    return f'<origin xyz="{xyz}" rpy="{rpy}"/>'


def link(name, *parts, mass=1.0, moment=0.1, center=""):
    inertial = INERTIAL.format(mass=mass, i=moment, origin=center) if mass is not None else ""
    return f'<link name="{name}">{inertial}{"".join(parts)}</link>'


def collision(xyz="0 0 0", name=""):
    return BOX.format(origin=origin(xyz), name=f' name="{name}"' if name else "")


def joint(name, child, parent="base", kind="fixed", place="", extra=""):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f"{place}{extra}</joint>"
    )


def convert(*parts):
    text = '<robot name="bot">\n' + "\n".join(parts) + "</robot>"
    return convert_urdf(text.encode(), "bot.urdf").find("model")


def pose(element):
    return Pose.from_values(float(value) for value in element.findtext("pose").split())


def test_a_fixed_link_adds_its_mass_to_the_parent():
    # two points of 1 kg and 3 kg, 0.4 m apart: center at 0.3 m, 1*3/4*0.16 about y and z
    model = convert(
        link("base", moment=0.0),
        link("arm", mass=3.0, moment=0.0),
        joint("mount", "arm", place=origin("0.4 0 0")),
    )
    inertial = model.find("link/inertial")
    assert [element.get("name") for element in model.findall("link")] == ["base"]
    assert float(inertial.findtext("mass")) == 4.0
    assert pose(inertial).position == pytest.approx((0.3, 0.0, 0.0))
    assert float(inertial.findtext("inertia/ixx")) == pytest.approx(0.0)
    assert float(inertial.findtext("inertia/iyy")) == pytest.approx(0.12)
    assert float(inertial.findtext("inertia/izz")) == pytest.approx(0.12)


def test_merged_moments_are_in_the_frame_of_the_parents_inertial():
    turned = origin(rpy=f"0 0 {math.pi / 2}")
    text = INERTIAL.format(mass=1, i=1, origin="").replace('ixx="1"', 'ixx="5"')
    model = convert(
        link("base", moment=1.0, center=turned),
        f'<link name="arm">{text}</link>',
        joint("mount", "arm"),
    )
    inertia = model.find("link/inertial/inertia")
    assert float(inertia.findtext("ixx")) == pytest.approx(2.0)
    assert float(inertia.findtext("iyy")) == pytest.approx(6.0)


def test_a_base_without_mass_gets_that_of_its_fixed_link():
    model = convert(link("base", mass=None), link("body", mass=2.0), joint("j", "body"))
    assert float(model.findtext("link/inertial/mass")) == 2.0


def test_shapes_of_a_fixed_link_move_to_the_parent():
    model = convert(
        link("base", collision()),
        link("arm", collision("0.1 0 0"), collision(name="tip")),
        joint("mount", "arm", place=origin("0 0 1", f"0 0 {math.pi / 2}")),
    )
    shapes = {shape.get("name"): shape for shape in model.iter("collision")}
    assert set(shapes) == {
        "base_collision",
        "base_fixed_joint_lump__arm_collision_1",
        "base_fixed_joint_lump__tip_collision_2",
    }
    placed = pose(shapes["base_fixed_joint_lump__arm_collision_1"])
    assert placed.position == pytest.approx((0.0, 0.1, 1.0))
    assert placed.yaw_rad == pytest.approx(math.pi / 2)


def test_a_wheel_on_a_fixed_link_is_connected_to_the_merged_parent():
    model = convert(
        link("base"),
        link("arm"),
        link("wheel"),
        joint("mount", "arm", place=origin("1 0 0", f"0 0 {math.pi / 2}")),
        joint("axle", "wheel", parent="arm", kind="continuous", place=origin("1 0 0")),
    )
    axle = model.find("joint")
    assert axle.findtext("parent") == "base"
    assert axle.find("pose").get("relative_to") == "base"
    assert pose(axle).position == pytest.approx((1.0, 1.0, 0.0))


def test_a_sensor_of_a_fixed_link_gets_the_pose_of_this_link():
    sensor = '<sensor name="laser" type="ray"><pose>9 9 9 0 0 0</pose><ray/></sensor>'
    model = convert(
        link("base"),
        link("mast", mass=None),
        link("laser", mass=None),
        joint("mast_joint", "mast", place=origin("0 0 1")),
        joint("laser_joint", "laser", parent="mast", place=origin("0.5 0 0")),
        f'<gazebo reference="laser">{sensor}</gazebo>',
    )
    assert pose(model.find("link/sensor")).position == pytest.approx((0.5, 0.0, 1.0))


@pytest.mark.parametrize(
    ("option", "kind"), [("preserveFixedJoint", "fixed"), ("disableFixedJointLumping", "revolute")]
)
def test_a_fixed_joint_can_be_kept(option, kind):
    model = convert(
        link("base"),
        link("arm"),
        joint("mount", "arm"),
        f'<gazebo reference="mount"><{option}>true</{option}></gazebo>',
    )
    assert [element.get("name") for element in model.findall("link")] == ["base", "arm"]
    assert model.find("joint").get("type") == kind
    assert (model.findtext("joint/axis/limit/upper") == "0") == (kind == "revolute")


def test_surface_values_apply_to_the_shapes_of_the_original_link():
    model = convert(
        link("base", collision()),
        link("foot", collision()),
        joint("mount", "foot"),
        '<gazebo reference="foot"><mu1>0.5</mu1><mu2 value="0.25"/><kp>1e6</kp>'
        "<minDepth>0.001</minDepth><fdir1>1 0 0</fdir1><maxContacts>3</maxContacts></gazebo>",
    )
    base, foot = model.iter("collision")
    assert base.find("surface") is None
    assert foot.findtext("surface/friction/ode/mu") == "0.5"
    assert foot.findtext("surface/friction/ode/mu2") == "0.25"
    assert foot.findtext("surface/friction/ode/fdir1") == "1 0 0"
    assert foot.findtext("surface/contact/ode/kp") == "1000000"
    assert foot.findtext("surface/contact/ode/min_depth") == "0.001"
    assert foot.findtext("max_contacts") == "3"


def test_extensions_without_reference_are_copied_to_the_model():
    model = convert(link("base"), '<gazebo><plugin name="p" filename="lib.so"/></gazebo>')
    assert model.find("plugin").get("filename") == "lib.so"


def test_limits_apply_to_joints_with_an_end():
    limit = '<limit lower="1" upper="-1" effort="2" velocity="3"/>'
    model = convert(
        link("base"),
        link("a"),
        link("b"),
        joint("turn", "a", kind="continuous", extra=limit),
        joint("slide", "b", kind="prismatic", extra=limit + '<axis xyz="0 0 1"/>'),
    )
    slide, turn = model.findall("joint")
    assert turn.get("type") == "revolute"
    assert turn.findtext("axis/xyz") == "1 0 0"
    assert turn.find("axis/limit/lower") is None
    assert slide.findtext("axis/xyz") == "0 0 1"
    assert [slide.findtext(f"axis/limit/{tag}") for tag in ("lower", "upper", "effort")] == [
        "-1",
        "1",
        "2",
    ]


def test_links_without_mass_are_left_out_with_a_warning(caplog):
    model = convert(
        link("base"),
        link("wheel", collision(), mass=None),
        link("tire"),
        joint("axle", "wheel", kind="continuous"),
        joint("rim", "tire", parent="wheel", kind="continuous"),
    )
    assert [element.get("name") for element in model.findall("link")] == ["base"]
    assert "'wheel', 'tire'" in caplog.text


def test_a_merged_link_without_mass_carries_nothing(caplog):
    model = convert(
        link("base"),
        link("mount", mass=None),
        link("wheel"),
        joint("fixed", "mount"),
        joint("axle", "wheel", parent="mount", kind="continuous"),
    )
    assert [element.get("name") for element in model.findall("link")] == ["base"]
    assert "'wheel'" in caplog.text
    assert "'mount'" not in caplog.text


def test_a_robot_that_is_fixed_to_the_world_keeps_this_joint():
    model = convert('<link name="world"/>', link("base"), joint("to_world", "base", parent="world"))
    assert model.find("joint").get("type") == "fixed"
    assert model.findtext("joint/parent") == "world"


@pytest.mark.parametrize(
    ("parts", "line", "problem"),
    [
        ([link("base"), link("base")], 3, "link 'base' appears twice"),
        ([link("base"), link("a")], 1, "'base', 'a' have no parent"),
        ([link("base"), joint("j", "nobody")], 3, "'nobody', which is not a link"),
        ([link("base"), link("a"), joint("j", "a", kind="hinge")], 4, "'hinge'"),
        ([link("base"), link("a"), joint("j", "a", kind="revolute")], 4, "has no <limit>"),
        ([link("base", mass="heavy")], 2, "value='heavy'"),
        ([link("base", mass="nan")], 2, "finite"),
        ([link("base", collision("0 0"))], 2, "3 numbers"),
        ([link("base", "<collision/>")], 2, "has no <geometry>"),
        (
            [link("base"), link("a"), joint("j", "a"), joint("k", "a")],
            5,
            "child of two joints, 'j' and 'k'",
        ),
        (
            [link("a"), link("b"), joint("j", "a", parent="b"), joint("k", "b", parent="a")],
            1,
            "form a circle",
        ),
        ([link("base"), '<gazebo reference="base"><mu1>soft</mu1></gazebo>'], 3, "'soft'"),
    ],
)
def test_an_invalid_urdf_is_rejected_with_its_line(parts, line, problem):
    with pytest.raises(SdfError) as error:
        convert(*parts)
    assert problem in error.value.full
    assert error.value.full.startswith(f"bot.urdf:{line}: ")


def test_a_robot_without_mass_is_rejected():
    with pytest.raises(SdfError, match="'base' has no mass"):
        convert(link("base", mass=None))


def test_text_that_is_not_urdf_is_rejected():
    with pytest.raises(SdfError, match="<sdf>"):
        convert_urdf(b"<sdf/>", "bot.urdf")
    with pytest.raises(SdfError, match=r"bot\.urdf:1"):
        convert_urdf(b"<robot>", "bot.urdf")


ALL = (
    link("base", collision(), center=origin("0.1 0 0", "0.1 0.2 0.3")),
    link("arm", collision("0.1 0 0"), collision(name="tip"), center=origin("0 0.2 0", "1 0 2")),
    link("laser", mass=None),
    link("wheel", collision()),
    link("kept", collision()),
    joint("mount", "arm", place=origin("0.3 0.2 0.1", "0.3 -0.4 0.5")),
    joint("laser_mount", "laser", parent="arm", place=origin("0 0 0.2", "0 0 1")),
    joint(
        "axle",
        "wheel",
        parent="arm",
        kind="revolute",
        place=origin("0 0.3 0", "-1.57 0 0"),
        extra='<axis xyz="0 0 1"/><limit lower="-1" upper="2" effort="3" velocity="4"/>'
        '<dynamics damping="0.1" friction="0.2"/>',
    ),
    joint("kept_mount", "kept"),
    '<gazebo reference="kept_mount"><preserveFixedJoint>true</preserveFixedJoint></gazebo>',
    '<gazebo reference="arm"><mu1>0.5</mu1><kp>1e6</kp><selfCollide>true</selfCollide>'
    "<material>Gazebo/Red</material></gazebo>",
    '<gazebo reference="wheel"><turnGravityOff>true</turnGravityOff>'
    "<dampingFactor>0.1</dampingFactor></gazebo>",
    '<gazebo reference="axle"><provideFeedback>true</provideFeedback><stopErp>0.2</stopErp>'
    "<springStiffness>5</springStiffness></gazebo>",
    '<gazebo reference="laser"><sensor name="s" type="ray"><ray><scan><horizontal>'
    "<samples>3</samples><min_angle>-1</min_angle><max_angle>1</max_angle></horizontal></scan>"
    "<range><min>0.1</min><max>9</max></range></ray></sensor></gazebo>",
    '<gazebo><plugin name="p" filename="libp.so"><bodyName>laser</bodyName></plugin></gazebo>',
)


TOLERANCE = 2e-5
"""Relative difference of numbers, since Gazebo prints six digits."""


def gazebo_sdf(text, suffix=".urdf"):
    """Return the SDF that Gazebo prints for a URDF or SDF text."""
    installation = find_gazebo()
    server = Path(installation.server[-1])
    program = server.with_name(server.name.replace("gzserver", "gz", 1))
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / f"model{suffix}"
        path.write_bytes(text)
        completed = subprocess.run(
            [*installation.server[:-1], str(program), "sdf", "--print", str(path)],
            env=installation.process_environment(master_port=0),
            stdout=subprocess.PIPE,
            timeout=60.0,
            check=True,
        )
    return completed.stdout[completed.stdout.index(b"<sdf") :]


def normalized(sdf):
    root = etree.fromstring(sdf)
    for uri in root.iter("uri"):  # Gazebo replaces the scheme
        uri.text = (uri.text or "").replace("package://", "model://")
    for link in root.iter("link"):  # Gazebo adds one per <gazebo> element, and reads the first
        for repeated in link.findall("velocity_decay")[1:]:
            link.remove(repeated)
    for joint in root.iter("joint"):  # Gazebo adds an axis to a fixed joint that is kept
        for axis in joint.findall("axis") if joint.get("type") == "fixed" else ():
            joint.remove(axis)
    return root


def differences(first, second, place=""):
    """Yield the differences between two elements of SDF."""
    place = f"{place}/{first.get('name') or first.tag}"
    if dict(first.attrib) != dict(second.attrib):
        yield f"{place}: {dict(first.attrib)} and {dict(second.attrib)}"
    if not has_same_text(first, second):
        yield f"{place}: {first.text!r} and {second.text!r}"
    children = [sorted(element, key=tag_and_name) for element in (first, second)]
    keys, other_keys = (list(map(tag_and_name, elements)) for elements in children)
    if keys == other_keys:
        for pair in zip(*children):
            yield from differences(*pair, place)
    else:
        yield f"{place}: different children: {sorted({*keys} ^ {*other_keys})}"


def tag_and_name(element):
    return element.tag, element.get("name") or ""


def has_same_text(first, second):
    words, other_words = ((element.text or "").split() for element in (first, second))
    if words == other_words:
        return True
    try:
        numbers, others = list(map(float, words)), list(map(float, other_words))
    except ValueError:
        return False
    if first.tag == "pose" and len(numbers) == len(others) == 6:
        pose, other = Pose.from_values(numbers), Pose.from_values(others)
        cosine = abs(sum(p * q for p, q in zip(pose.quaternion, other.quaternion)))
        return math.dist(pose.position, other.position) < TOLERANCE and cosine > 1 - 1e-8
    return numbers == pytest.approx(others, rel=TOLERANCE, abs=1e-12)


@pytest.mark.gazebo
def test_urdf_is_converted_to_the_same_sdf_as_by_gazebo():
    text = '<robot name="bot">' + "".join(ALL) + "</robot>"
    converted = gazebo_sdf(etree.tostring(convert_urdf(text.encode(), "")), ".sdf")
    assert list(differences(normalized(gazebo_sdf(text.encode())), normalized(converted))) == []
    changed = etree.tostring(convert_urdf(text.replace("0.3 0.2 0.1", "0.3 0.2 0.2").encode(), ""))
    changed = normalized(gazebo_sdf(changed, ".sdf"))
    assert list(differences(normalized(converted), changed)) != []
