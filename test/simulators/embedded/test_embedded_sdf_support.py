"""Unsupported SDF elements, which are rejected, or ignored with one warning."""

import logging
import math

import embedded_scenes as scenes
import numpy as np
import pytest

from gz_testauto.base.errors import SceneError, SimulatorError
from gz_testauto.base.observation import Twist2D
from gz_testauto.simulators import open_simulator
from gz_testauto.simulators.embedded import geoms, mjcf

HINGE = """<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>
<axis><xyz>0 0 1</xyz></axis></joint>"""


@pytest.fixture
def simulator():
    with open_simulator("embedded") as simulator:
        yield simulator


def chain(*joints):
    links = "".join(f'<link name="{name}"/>' for name in "abc")
    return f'<model name="chain">{links}{"".join(joints)}</model>'


def hinge(parent, child, kind="revolute"):
    return HINGE.format(name=f"{parent}_{child}", kind=kind, parent=parent, child=child)


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        (
            scenes.model("slide", "<plane><normal>0 0 1</normal></plane>", static=False),
            r"test.world:\d+: slide::link::collision is a plane in a model that can move.*static",
        ),
        (
            chain(hinge("a", "c"), hinge("b", "c")),
            r"'c' is the child of two joints.*a_c.*b_c.*remove",
        ),
        (chain(hinge("a", "b"), hinge("b", "a")), r"model 'chain': the joints of .*cycle"),
        (chain(hinge("a", "b", "screw")), r"joint 'a_b' is of the type 'screw'.*Supported: ball"),
        (
            "<population name='trees'/>",
            r"'trees' is not simulated: .*as saved by Gazebo.*simulator gazebo",
        ),
        (
            scenes.model("ghost", "<box><size>1 1 1</size></box>").replace(
                "<inertial>", "<kinematic>true</kinematic><inertial>"
            ),
            r"<kinematic> of link 'link' is not simulated: .*static",
        ),
        (
            scenes.box("b", 0, 0, 1, mass=0, static=False),
            r"link 'link' has a mass of 0.0 kg; it must be above 0",
        ),
    ],
)
def test_unsupported_element_is_rejected_with_its_name(simulator, tmp_path, inside, message):
    with pytest.raises(SimulatorError, match=message):
        scenes.load(simulator, scenes.write_world(tmp_path, inside))


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ('<plugin name="wind" filename="libwind.so"/>', "plugin 'wind' (libwind.so)"),
        ('<road name="street"/>', "road 'street'"),
        (
            scenes.box("b", 0, 0, 0.5, surface="<bounce><restitution_coefficient>0.5"
            "</restitution_coefficient></bounce>"),
            "<bounce>",
        ),
        (
            scenes.box("b", 0, 0, 0.5, more='<plugin name="p" filename="libpush.so"/>'),
            "plugin 'p' (libpush.so)",
        ),
        (
            scenes.model("b", "<box><size>1 1 1</size></box>").replace(
                "<inertial>", '<sensor name="eye" type="camera"/><inertial>'
            ),
            "sensor 'eye' (camera)",
        ),
        (
            scenes.box("b", 0, 0, 0.5, surface="<friction><ode><mu>0.4</mu><mu2>0.2</mu2></ode>"
            "</friction>"),
            "the smaller one in all directions",
        ),
        (
            scenes.box("b", 0, 0, 0.5, static=False).replace("<ixx>0.2", "<ixx>0.9"),
            "b::link",
        ),
    ],
)  # fmt: skip
def test_ignored_element_is_logged_once(simulator, tmp_path, caplog, inside, message):
    world = scenes.write_world(tmp_path, inside)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            scenes.load(simulator, world).step(0.1)
    said = [record.message for record in caplog.records]
    assert len(said) == 1
    assert "test.world:" in said[0]
    assert message in said[0]


def test_velocity_of_a_link_is_not_read_as_a_joint_velocity(simulator, tmp_path, caplog):
    moving = "<velocity>0.1 0 0 0 0 0</velocity><inertial>"
    text = scenes.box("b", 0, 0, 0.5, static=False).replace("<inertial>", moving)
    with caplog.at_level(logging.WARNING):
        simulation = scenes.load(simulator, scenes.write_world(tmp_path, text))
    assert simulation.step(0.1).models["b"].pose.position[0] == pytest.approx(0, abs=1e-6)
    assert not caplog.records


def test_packaged_worlds_and_robot_are_fully_supported(simulator, caplog):
    from gz_testauto.base.resources import share_directory

    with caplog.at_level(logging.WARNING):
        for name in ("arena", "room"):
            world = share_directory() / "worlds" / f"{name}.world"
            scenes.load(simulator, world, scenes.wheelchair()).step(0.1)
    assert not caplog.records


IMPOSSIBLE = "<ixx>{}</ixx><iyy>{}</iyy><izz>{}</izz><ixy>{}</ixy>"


@pytest.mark.parametrize(
    ("moments", "mean"), [((0.2, 0.2, 0.9, 0), 1.3 / 3), ((0.1, 0.1, 0.1, 0.5), 0.1)]
)
def test_impossible_moments_of_inertia_are_replaced_by_their_mean_with_a_warning(
    simulator, tmp_path, caplog, moments, mean
):
    box = scenes.box("b", 0, 0, 0.5, static=False)
    start, end = box.index("<ixx>"), box.index("</inertia>")
    box = box[:start] + IMPOSSIBLE.format(*moments) + box[end:]
    with caplog.at_level(logging.WARNING):
        simulation = scenes.load(simulator, scenes.write_world(tmp_path, box))
    assert "b::link" in caplog.text and f"{mean:.3g} kg m²" in caplog.text
    body = simulation._engine.body("b::link")
    assert simulation._engine.model.body_inertia[body] == pytest.approx([mean] * 3)


def test_moments_of_inertia_without_a_positive_mean_are_rejected(simulator, tmp_path):
    box = scenes.box("b", 0, 0, 0.5, static=False)
    start, end = box.index("<ixx>"), box.index("</inertia>")
    box = box[:start] + IMPOSSIBLE.format(0, 0, 0, 0) + box[end:]
    with pytest.raises(SimulatorError, match=r"test.world:\d+: .*b::link.*<inertia>"):
        scenes.load(simulator, scenes.write_world(tmp_path, box))


@pytest.mark.slow
def test_three_thousand_models_can_be_simulated(simulator, tmp_path):
    crates = [
        scenes.box(f"crate{i}", 2 + i % 60, i // 60, 0.25, "0.5 0.5 0.5") for i in range(3000)
    ]
    simulation = scenes.load(simulator, scenes.write_world(tmp_path, *crates), scenes.wheelchair())
    snapshot = simulation.step(0.01)
    assert len(snapshot.models) == 3002


@pytest.mark.parametrize(
    ("count", "memory_bytes", "reason"),
    [
        pytest.param(1, 1_000, "", id="no memory for a step"),
        pytest.param(
            10, 320_000, "memory for these contacts", id="memory for a part of the contacts"
        ),
    ],
)
def test_world_that_exceeds_the_memory_of_mujoco_raises_one_error(
    simulator, tmp_path, monkeypatch, count, memory_bytes, reason
):
    monkeypatch.setattr(mjcf, "MANY_BODIES", 0)
    monkeypatch.setattr(mjcf, "MIN_MEMORY_BYTES", memory_bytes - 2 * count**2 - 120_000 * count)
    boxes = [scenes.box(f"b{i}", 5, 0, 0.2, static=False) for i in range(count)]
    with pytest.raises(SceneError, match=rf"world of \d+ bodies .*{reason}.*fewer models"):
        scenes.load(simulator, scenes.write_world(tmp_path, *boxes)).step(0.1)


def test_driving_a_robot_without_a_drive_plugin_raises(simulator, tmp_path):
    rover = scenes.rover(tmp_path, plugin="")
    simulation = scenes.load(simulator, scenes.write_world(tmp_path), rover)
    with pytest.raises(SimulatorError, match="libDiffDrive"):
        simulation.drive(Twist2D(1.0, 0.0))


def test_world_that_already_contains_the_robot_is_rejected(simulator, tmp_path):
    world = scenes.write_world(tmp_path, scenes.box("robot", 3, 0, 0.5))
    with pytest.raises(SimulatorError, match="has a model 'robot' already"):
        scenes.load(simulator, world, scenes.wheelchair())


@pytest.fixture
def corner(tmp_path):
    """Write a world with a mesh of two walls that form a corner."""
    trimesh = pytest.importorskip("trimesh")
    from shapely.geometry import Polygon

    outline = Polygon([(0, 0), (2, 0), (2, 0.2), (0.2, 0.2), (0.2, 2), (0, 2)])
    path = tmp_path / "corner.stl"
    trimesh.creation.extrude_polygon(outline, 1.0).export(path)
    mesh = f"<mesh><uri>file://{path}</uri></mesh>"
    return scenes.write_world(tmp_path, scenes.model("corner", mesh))


def test_contacts_of_a_concave_mesh_are_on_its_surface_without_a_warning(simulator, corner, caplog):
    with caplog.at_level(logging.WARNING):
        simulation = scenes.load(simulator, corner, scenes.wheelchair(), (1.2, 1.2, 0.0))
        snapshot = simulation.step(0.5)
    assert not caplog.records
    assert not snapshot.contacts
    assert snapshot.models["robot"].pose.position == pytest.approx((1.2, 1.2, 0), abs=1e-3)


def test_mesh_pieces_with_a_large_error_log_a_warning(simulator, corner, caplog, monkeypatch):
    monkeypatch.setattr(geoms, "WARN_ERROR_M", -1.0)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            scenes.load(simulator, corner)
    (record,) = caplog.records
    assert record.message.startswith("corner::link::collision:")
    assert "corner.stl" in record.message
    assert "0.000 m" in record.message


def test_mesh_with_too_many_convex_pieces_is_rejected(simulator, corner, monkeypatch):
    monkeypatch.setattr(geoms, "TOO_MANY_PIECES", 3)
    with pytest.raises(SimulatorError, match=r"corner::link::collision: .*corner.stl.*too rough"):
        scenes.load(simulator, corner)


def test_world_with_too_many_convex_pieces_is_rejected(simulator, corner, monkeypatch):
    scenes.load(simulator, corner)
    monkeypatch.setattr(geoms, "MAX_WORLD_PIECES", 3)
    with pytest.raises(SimulatorError, match=r"corner::link::collision: .*corner.stl.* at most 3;"):
        scenes.load(simulator, corner)


def test_contacts_of_a_polyline_are_on_its_surface(simulator, tmp_path):
    points = "".join(
        f"<point>{x} {y}</point>"
        for x, y in ((0, -1), (2, -1), (2, 1), (0, 1), (0, 0.8), (1.8, 0.8), (1.8, -0.8), (0, -0.8))
    )
    bay = scenes.model("bay", f"<polyline>{points}<height>1</height></polyline>", "2 0 0 0 0 0")
    simulation = scenes.load(simulator, scenes.write_world(tmp_path, bay), scenes.wheelchair())
    contacts = [
        contact
        for snapshot in scenes.drive(simulation, Twist2D(1.0, 0.0), 4.0)
        for contact in snapshot.contacts
    ]
    assert contacts[0].positions_m[0][0] == pytest.approx(3.8, abs=0.02)  # the back of the bay


def test_ball_rests_on_a_plane_whose_pose_is_rotated(simulator, tmp_path):
    sticker = scenes.model("sticker", "<plane><normal>0 0 1</normal></plane>", "0 4 1.25 1.57 0 0")
    ball = scenes.model("ball", "<sphere><radius>0.2</radius></sphere>", "0 -2 1.6 0 0 0", False)
    world = scenes.write_world(tmp_path, sticker, ball, floor="")
    ends = scenes.load(simulator, world).step(1.0).models["ball"].pose
    assert ends.position == pytest.approx((0, -2, 1.45), abs=0.01)


def test_box_rests_on_terrain_that_the_lidar_detects(simulator, tmp_path, caplog):
    image = pytest.importorskip("PIL.Image")
    x, y = np.meshgrid(np.linspace(-8, 8, 65), np.linspace(-8, 8, 65))
    heights = np.exp(-((x - 5) ** 2 + y**2) / 2)
    image.fromarray((255 * heights).astype(np.uint8)).save(tmp_path / "hill.png")
    uri = f"<uri>file://{tmp_path}/hill.png</uri>"
    hill = scenes.model("hill", f"<heightmap>{uri}<size>16 16 2</size></heightmap>")
    box = scenes.box("box", -3, 0, 1.0, "0.4 0.4 0.4", static=False)
    world = scenes.write_world(tmp_path, box, floor=hill)
    with caplog.at_level(logging.WARNING):
        simulation = scenes.load(simulator, world, scenes.wheelchair(), (-5, 3, 0))
    assert [record.message for record in caplog.records if "casters" in record.message]
    snapshot = simulation.step(2.0)
    assert snapshot.models["box"].pose.position[2] == pytest.approx(0.2, abs=0.01)
    assert snapshot.models["robot"].pose.position[2] == pytest.approx(0.0, abs=0.02)
    simulation = scenes.load(simulator, world, scenes.wheelchair(), (0, 0, 0))
    ahead = simulation.step(0.1).scan.ranges_m
    # at 0.35 m above the ground: 2 exp(-r²/2) = 0.35
    assert ahead[len(ahead) // 2] == pytest.approx(4.5 - np.sqrt(2 * np.log(2 / 0.35)), abs=0.1)


def test_terrain_has_contacts_where_the_lidar_detects_it(simulator, tmp_path):
    """The terrain has one ridge at the edge of the largest y and another ridge at the edge of the
    smallest x."""
    image = pytest.importorskip("PIL.Image")
    heights = np.zeros((17, 17), np.uint8)
    heights[:5], heights[:, :3] = 255, 128
    image.fromarray(heights).save(tmp_path / "ridges.png")
    uri = f"<uri>file://{tmp_path}/ridges.png</uri>"
    ridges = scenes.model("ridges", f"<heightmap>{uri}<size>16 16 1</size></heightmap>")
    boxes = [
        scenes.box(f"box_{x}_{y}", x, y, 1.5, "0.4 0.4 0.4", static=False)
        for x, y in ((0, 6), (0, -6), (-7, -6), (6, 0))
    ]
    world = scenes.write_world(tmp_path, *boxes, floor=ridges)
    ends = scenes.load(simulator, world).step(2.0).models
    standing = [ends[name].pose.position[2] - 0.2 for name in sorted(ends) if "box" in name]
    assert standing == pytest.approx([128 / 255, 0.0, 1.0, 0.0], abs=0.01)  # by name


def test_large_height_map_that_is_partly_level_is_accepted(simulator, tmp_path, monkeypatch):
    image = pytest.importorskip("PIL.Image")
    heights = np.zeros((17, 17), np.uint8)
    heights[:2] = 255
    image.fromarray(heights).save(tmp_path / "wall.png")
    uri = f"<uri>file://{tmp_path}/wall.png</uri>"
    wall = scenes.model("wall", f"<heightmap>{uri}<size>16 16 1</size></heightmap>")
    monkeypatch.setattr(geoms, "MAX_FACES", 256)
    world = scenes.write_world(tmp_path, floor=wall)
    scan = scenes.load(simulator, world, scenes.wheelchair(), (0, 0, math.pi / 2)).step(0.1).scan
    assert scan.ranges_m[len(scan.ranges_m) // 2] == pytest.approx(6.3, abs=0.5)


def test_sheet_without_thickness_has_contacts_and_is_in_the_scan(simulator, tmp_path):
    trimesh = pytest.importorskip("trimesh")
    corners = [[3, -2, 0], [3, 2, 0], [3, 2, 1], [3, -2, 1]]
    trimesh.Trimesh(corners, [[0, 1, 2], [0, 2, 3]]).export(tmp_path / "sheet.stl")
    mesh = f"<mesh><uri>file://{tmp_path}/sheet.stl</uri></mesh>"
    world = scenes.write_world(tmp_path, scenes.model("sheet", mesh))
    simulation = scenes.load(simulator, world, scenes.wheelchair())
    ahead = simulation.step(0.1).scan.ranges_m
    assert ahead[len(ahead) // 2] == pytest.approx(2.5, abs=0.01)
    snapshots = scenes.drive(simulation, Twist2D(1.0, 0.0), 3.5)
    assert any(snapshot.contacts for snapshot in snapshots)


@pytest.mark.parametrize("static", [True, False])
def test_name_of_a_model_can_contain_colons_as_in_gazebo(simulator, tmp_path, static):
    wheel = (
        '<link name="wheel"><pose>0 0 1 0 0 0</pose></link><joint name="hinge" type="revolute">'
        "<parent>link</parent><child>wheel</child><axis><xyz>0 0 1</xyz></axis></joint>"
    )
    crate = scenes.box("room1::crate", 3, 0, 0.5, static=static, more=wheel)
    simulation = scenes.load(simulator, scenes.write_world(tmp_path, crate), scenes.wheelchair())
    snapshot = simulation.step(0.1)
    assert snapshot.models["room1::crate"].pose.position == pytest.approx((3, 0, 0.5), abs=0.01)
    assert "room1::crate::wheel" in snapshot.links
    assert snapshot.scan.ranges_m[180] == pytest.approx(2.0, abs=0.01)


@pytest.mark.parametrize("skid", ["servo", "wheels"])
def test_contacts_without_forces_are_reported_and_do_not_stop_the_robot(tmp_path, skid):
    """A robot passes a wall as if it were not there, and a ball falls through the floor."""
    surface = "<contact><collide_without_contact>true</collide_without_contact></contact>"
    wall = scenes.box("wall", 1.5, 0, 1.0, size="0.2 4 2", surface=surface)
    ball = scenes.model(
        "ball", "<sphere><radius>0.1</radius></sphere>", "5 5 1 0 0 0", False, surface
    )
    ends = []
    for models in ((), (wall, ball)):
        with open_simulator("embedded", skid=skid) as simulator:
            simulation = scenes.load(
                simulator, scenes.write_world(tmp_path, *models), scenes.wheelchair()
            )
            snapshots = scenes.drive(simulation, Twist2D(1.0, 0.0), 3.0)
            ends.append(snapshots[-1].models["robot"].pose.position)
    assert ends[1] == pytest.approx(ends[0], abs=2e-3)
    assert ends[1][0] > 2.5
    touches = [
        any("wall::" in contact.first + contact.second for contact in snapshot.contacts)
        for snapshot in snapshots
    ]
    assert 10 < sum(touches) < 50
    assert snapshots[-1].models["ball"].pose.position[2] == pytest.approx(1 - 4.9 * 9, rel=1e-2)
