"""Meshes and terrain are read as in Gazebo, with exact outlines."""

import math
import re

import numpy as np
import pytest
import shapely
import trimesh
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sdf_text import link, model, world

from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.meshes.files import mesh_parts
from gz_testauto.sdf.meshes.slices import surface_slab
from gz_testauto.sdf.meshes.solids import find_solids
from gz_testauto.sdf.meshes.surfaces import Heightmap, Mesh
from gz_testauto.sdf.scene import read_scene
from gz_testauto.sdf.shapes import Box

GEOMETRY = """<geometry id="{id}"><mesh>
<source id="{id}p"><float_array id="{id}pa" count="12">0 0 0 2 0 0 0 4 0 0 0 8</float_array>
<technique_common><accessor source="#{id}pa" count="4" stride="3"><param name="X" type="float"/>
<param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="{id}v"><input semantic="POSITION" source="#{id}p"/></vertices>
<triangles count="4"><input semantic="VERTEX" source="#{id}v" offset="0"/>
<p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles></mesh></geometry>"""
COLLADA = f"""<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><created>2020-01-01T00:00:00Z</created><modified>2020-01-01T00:00:00Z</modified>
<unit name="u" meter="{{unit}}"/><up_axis>{{up}}</up_axis></asset>
<library_geometries>{GEOMETRY.format(id="g")}{GEOMETRY.format(id="h")}</library_geometries>
<library_visual_scenes><visual_scene id="s">
<node id="n1" name="left"><translate>1 0 0</translate><instance_geometry url="#g"/></node>
<node id="n2" name="right"><node id="n3" name="tip"><node><rotate>0 0 0 5</rotate>
<translate>0 10 0</translate><instance_geometry url="#h"/></node></node></node>
</visual_scene></library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


@pytest.fixture
def collada(tmp_path):
    def make(unit=1, up="Z_UP"):
        path = tmp_path / f"m_{unit}_{up}.dae"
        path.write_text(COLLADA.format(unit=unit, up=up))
        return path

    return make


def test_collada_unit_and_node_transforms_are_applied(collada):
    bounds = Mesh(collada(unit=0.5)).bounds(Pose())
    assert bounds == pytest.approx(np.array([[0, 1.5], [0, 7], [0, 4]]))


def test_collada_up_axis_is_ignored_as_in_gazebo(collada):
    upright, lying = (Mesh(collada(up=up)).bounds(Pose()) for up in ("Z_UP", "Y_UP"))
    assert (upright == lying).all()


def test_collada_shape_with_a_missing_material_is_read(collada):
    path = collada()
    worn = """<instance_geometry url="#g"><bind_material><technique_common>
<instance_material symbol="m" target="#m"/></technique_common></bind_material>
</instance_geometry>"""
    whole = Mesh(path).bounds(Pose())
    text = path.read_text().replace('<instance_geometry url="#g"/>', worn)
    materials = """<library_effects><effect id="e"><profile_COMMON><newparam sid="s">
<surface type="2D"><init_from>lost</init_from></surface></newparam></profile_COMMON></effect>
</library_effects><library_materials><material id="m"><instance_effect url="#e"/></material>
</library_materials><library_geometries>"""
    worn_path = path.with_name("worn.dae")
    worn_path.write_text(text.replace("<library_geometries>", materials))
    assert (Mesh(worn_path).bounds(Pose()) == whole).all()


def test_collada_shape_with_a_comment_is_read(collada):
    path = collada()
    bounds = Mesh(path).bounds(Pose())
    path.write_text(path.read_text().replace("<triangles", "<!-- faces --><triangles"))
    assert (Mesh(path).bounds(Pose()) == bounds).all()


def test_submesh_is_selected_by_node_name_and_centered_on_request(collada):
    path = collada()
    assert Mesh(path, submesh="tip").bounds(Pose())[1] == pytest.approx([10, 14])
    centered = Mesh(path, submesh="tip", center=True).bounds(Pose())
    assert centered == pytest.approx(np.array([[-1, 1], [-2, 2], [-4, 4]]))
    with pytest.raises(SdfError, match=r"'top'.*: left, tip"):
        Mesh(path, submesh="top").bounds(Pose())


def test_mesh_scale_multiplies_each_axis(collada):
    scaled = Mesh(collada(), scale=(1.0, 2.0, -0.5)).bounds(Pose())
    assert scaled == pytest.approx(np.array([[0, 3], [0, 28], [-4, 0]]))


@pytest.fixture(scope="module")
def box_mesh(tmp_path_factory):
    path = tmp_path_factory.mktemp("mesh") / "box.stl"
    trimesh.creation.box((2, 1, 0.5)).export(path)
    return Mesh(path)


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(
    st.tuples(*[st.floats(-5, 5)] * 3, *[st.floats(-3, 3)] * 3), st.floats(0, 1), st.floats(0, 1)
)
def test_mesh_of_a_box_has_the_outline_of_the_box(box_mesh, values, one, other):
    pose, box = Pose.from_values(values), Box((2.0, 1.0, 0.5))
    low, high = box.bounds(pose)[2]
    z_min, z_max = sorted((low + one * (high - low), low + other * (high - low)))
    assume(z_max - z_min > 1e-3)  # a height at a face can miss it by rounding
    found, expected = (shape.footprint(pose, z_min, z_max) for shape in (box_mesh, box))
    assert shapely.symmetric_difference(found, expected).area < 0.01
    assert box_mesh.bounds(pose) == pytest.approx(box.bounds(pose), abs=1e-6)


def test_outline_of_a_closed_mesh_is_filled_except_for_cavities(tmp_path):
    tube = trimesh.creation.annulus(r_min=1.0, r_max=1.5, height=2.0, sections=64)
    path = tmp_path / "tube.stl"
    tube.export(path)
    outline = Mesh(path).footprint(Pose(), -0.1, 0.1)
    assert outline.area == pytest.approx(math.pi * (1.5**2 - 1), rel=0.01)
    assert not outline.contains(shapely.Point(0, 0))


def test_overlapping_closed_bodies_count_once(tmp_path):
    one = trimesh.creation.box((2, 2, 2))
    other = one.copy()
    other.apply_translation((1, 0.5, 0))
    path = tmp_path / "two.stl"
    trimesh.util.concatenate([one, other]).export(path)
    assert Mesh(path).footprint(Pose(), 0, 0.1).area == pytest.approx(4 + 4 - 1.5, rel=1e-3)


def test_wall_of_zero_thickness_has_an_outline_and_is_not_filled(tmp_path):
    room = trimesh.creation.box((4, 4, 2))
    room.update_faces(np.abs(room.face_normals[:, 2]) < 0.5)  # no floor, no ceiling
    path = tmp_path / "room.obj"
    room.export(path)
    outline = Mesh(path).footprint(Pose(), -0.5, 0.5)
    assert not outline.contains(shapely.Point(0, 0))
    assert outline.distance(shapely.Point(0, 0)) == pytest.approx(2, abs=1e-3)
    assert outline.area < 0.01


def test_outline_of_a_mesh_moves_and_rotates_with_its_pose(box_mesh):
    outline = box_mesh.footprint(Pose.from_rpy(3, 4, 0, 0, 0, math.pi / 2), -1, 1)
    assert outline.bounds == pytest.approx((2.5, 3, 3.5, 5))


@pytest.mark.parametrize("scale", [1e7, 1e308])
def test_mesh_with_a_huge_scale_is_rejected(box_mesh, scale):
    with pytest.raises(SdfError, match=r"with scale .*e\+.* 1 1 "):
        Mesh(box_mesh.path, (scale, 1.0, 1.0)).footprint(Pose(), 0.0, 1.0)


def test_changed_bounds_of_a_mesh_do_not_affect_the_next_call(collada):
    mesh = Mesh(collada())
    mesh.bounds(Pose())[:] = 0.0
    assert mesh.bounds(Pose()) == pytest.approx(np.array([[0, 3], [0, 14], [0, 8]]))
    assert mesh.bounds(Pose((1.0, 0.0, 0.0)))[0] == pytest.approx([1, 4])


def test_mesh_that_changes_on_disk_is_read_again(tmp_path):
    path = tmp_path / "m.stl"
    trimesh.creation.box((1, 1, 1)).export(path)
    assert Mesh(path).footprint(Pose(), -1, 1).area == pytest.approx(1)
    trimesh.creation.box((2, 2, 2)).export(path)
    assert Mesh(path).footprint(Pose(), -1, 1).area == pytest.approx(4)


def test_missing_mesh_is_reported_with_the_line_of_its_uri():
    text = world(model("m", link(shape="<mesh><uri>meshes/no.stl</uri></mesh>")))
    with pytest.raises(
        SdfError, match=r"w\.world:3: meshes/no\.stl names .*, which does not exist"
    ):
        read_scene(SdfDocument.parse(text, "w.world"), ())


def test_mesh_with_wrong_case_is_reported_with_the_correct_spelling(tmp_path):
    (tmp_path / "Room.STL").touch()
    text = world(model("m", link(shape=f"<mesh><uri>file://{tmp_path}/room.stl</uri></mesh>")))
    suggestion = rf"room\.stl does not exist; did you mean {tmp_path}/Room\.STL\?"
    with pytest.raises(SdfError, match=suggestion):
        read_scene(SdfDocument.parse(text, "w.world"), ())


def test_mesh_with_wrong_case_is_searched_on_gazebos_resource_path(tmp_path, monkeypatch):
    (tmp_path / "Lamp").mkdir()
    (tmp_path / "Lamp" / "Lamp.DAE").touch()
    monkeypatch.setenv("GAZEBO_RESOURCE_PATH", str(tmp_path))
    text = world(model("m", link(shape="<mesh><uri>file://Lamp/lamp.dae</uri></mesh>")))
    with pytest.raises(
        SdfError, match=rf"does not exist; did you mean {tmp_path}/Lamp/Lamp\.DAE\?"
    ):
        read_scene(SdfDocument.parse(text, "w.world"), ())


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("m.blend", b"", "Gazebo loads STL, OBJ and DAE, not .blend"),
        ("m.dae", b"<COLLADA", "cannot be read"),
        ("m.stl", b"solid x\nendsolid x\n", "m.stl"),
    ],
)
def test_unreadable_mesh_is_rejected(tmp_path, name, content, problem):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(SdfError, match=problem):
        Mesh(path).bounds(Pose())


@pytest.fixture
def terrain(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="terrain needs Pillow")
    pixels = np.zeros((33, 33), np.uint8)
    pixels[:8, :8] = 200  # a hill in the corner of lowest x and highest y
    path = tmp_path / "hill.png"
    image.fromarray(pixels).save(path)
    return Heightmap(path, (32.0, 32.0, 2.0), (100.0, 0.0, 0.5))


def test_brightest_pixel_of_terrain_has_the_specified_height(terrain):
    elsewhere = Pose.from_rpy(7, 7, 7, 0, 0, 0)
    expected = np.array([[-16, 16], [-16, 16], [0.5, 2.5]])
    assert terrain.bounds(elsewhere) == pytest.approx(expected)


def test_footprint_of_terrain_covers_the_cells_above_the_lower_height(terrain):
    hill = terrain.footprint(Pose(), 1.0, 2.0)
    assert hill.contains(shapely.Point(-12, 12))
    assert hill.area == pytest.approx(64)
    assert terrain.footprint(Pose(), 0.0, 2.0).area == pytest.approx(32 * 32)
    assert terrain.footprint(Pose(), 2.6, 3.0).is_empty
    turned = terrain.footprint(Pose.from_rpy(0, 0, 0, 0, 0, math.pi / 2), 1.0, 2.0)
    assert turned.contains(shapely.Point(-12, -12))


def test_terrain_with_a_huge_size_is_rejected(terrain):
    with pytest.raises(SdfError, match="1e\\+308 m wide"):
        Heightmap(terrain.path, (1e308, 1.0, 1.0)).footprint(Pose(), 0.0, 1.0)


def test_terrain_with_an_image_that_gazebo_rejects_is_rejected(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="terrain needs Pillow")
    path = tmp_path / "h.png"
    image.fromarray(np.zeros((30, 33), np.uint8)).save(path)
    with pytest.raises(SdfError, match="33 × 30 pixels; it must be a square"):
        Heightmap(path, (1.0, 1.0, 1.0)).bounds(Pose())


@pytest.mark.parametrize("mode", ["L", "LA", "RGB", "RGBA", "P"])
def test_terrain_of_a_gray_image_is_read_in_each_mode(tmp_path, mode):
    image = pytest.importorskip("PIL.Image", reason="terrain needs Pillow")
    pixels = 2 * np.arange(25, dtype=np.uint8).reshape(5, 5)
    path = tmp_path / "h.png"
    gray = image.fromarray(pixels)
    if mode == "P":
        gray.putpalette([level for level in range(256) for _ in "rgb"])
    else:
        gray = gray.convert(mode)
    gray.save(path)
    assert Heightmap(path, (1.0, 1.0, 2.0)).heights == pytest.approx(pixels / 48 * 2)


@pytest.mark.parametrize(("low", "highest"), [(0, 200), (1, 255), (2, 200), (3, 200)])
def test_terrain_with_a_pixel_of_1_is_scaled_as_with_a_white_pixel(tmp_path, low, highest):
    """Heights of gzserver 11.1 for an image of 33 x 33 pixels of 100, 200 and ``low``."""
    image = pytest.importorskip("PIL.Image", reason="terrain needs Pillow")
    pixels = np.full((33, 33), 100, dtype=np.uint8)
    pixels[10:23, 10:23], pixels[0, 0] = 200, low
    path = tmp_path / "terrain.png"
    image.fromarray(pixels).save(path)
    heights = Heightmap(path, (64.0, 64.0, 10.0)).heights
    assert heights.max() == pytest.approx(10.0 * 200 / highest)


@pytest.mark.parametrize("mode", ["RGB", "P", "I;16", "1"])
def test_terrain_that_gazebo_reads_with_other_heights_is_rejected(tmp_path, mode):
    """gzserver reads the first byte of a pixel: blue, the lower byte, or the palette's index."""
    image = pytest.importorskip("PIL.Image", reason="terrain needs Pillow")
    levels = np.arange(25).reshape(5, 5)
    path = tmp_path / "h.png"
    if mode == "RGB":
        image.fromarray(np.stack([levels, levels, 0 * levels], -1).astype(np.uint8)).save(path)
    elif mode == "P":
        colored = image.fromarray(levels.astype(np.uint8))
        colored.putpalette([255 - level for level in range(256) for _ in "rgb"])
        colored.save(path)
    elif mode == "1":
        image.fromarray(levels > 12).save(path)
    else:
        image.fromarray((levels * 1000).astype(np.uint16)).save(path)
    with pytest.raises(SdfError, match=f"has the mode {mode}, and Gazebo 11"):
        _ = Heightmap(path, (1.0, 1.0, 2.0)).heights


def test_terrain_of_a_jpeg_needs_a_white_pixel(tmp_path):
    """gzserver divides the brightness in a JPEG by 255, and in a PNG by its largest value."""
    image = pytest.importorskip("PIL.Image", reason="terrain needs Pillow")
    for level in (254, 255):
        image.fromarray(np.full((5, 5), level, np.uint8)).save(tmp_path / f"{level}.jpg")
    assert Heightmap(tmp_path / "255.jpg", (1.0, 1.0, 2.0)).heights.max() == 2.0
    with pytest.raises(SdfError, match="is a JPEG without a white pixel"):
        _ = Heightmap(tmp_path / "254.jpg", (1.0, 1.0, 2.0)).heights


def written(mesh, path, both_sides=False):
    """Write a mesh to a file, optionally with a reversed duplicate of each face."""
    faces = np.concatenate([mesh.faces, mesh.faces[:, ::-1]]) if both_sides else mesh.faces
    trimesh.Trimesh(mesh.vertices, faces, process=False).export(path)
    return Mesh(path)


def test_solid_with_duplicate_faces_is_filled(tmp_path):
    box = written(trimesh.creation.box((2, 1, 1)), tmp_path / "box.stl", both_sides=True)
    assert box.footprint(Pose(), 0.1, 0.1).area == pytest.approx(2)
    assert box.footprint(Pose(), -0.1, 0.1).area == pytest.approx(2)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_solid_with_randomly_oriented_faces_is_filled(tmp_path, seed):
    ball = trimesh.creation.icosphere(subdivisions=3, radius=1.0)
    turned = np.random.default_rng(seed).random(len(ball.faces)) < 0.5
    ball.faces[turned] = ball.faces[turned][:, ::-1]
    area = written(ball, tmp_path / "ball.stl").footprint(Pose(), 0.0, 0.0).area
    assert area == pytest.approx(math.pi, rel=0.01)


def test_two_sided_panel_has_an_outline_and_a_solid_next_to_it_is_filled(tmp_path):
    panel = trimesh.Trimesh([[5, -1, 0], [5, 1, 0], [5, 1, 2], [5, -1, 2]], [[0, 1, 2], [0, 2, 3]])
    both = np.concatenate([panel.faces, panel.faces[:, ::-1]])
    box = trimesh.creation.box((2, 2, 4))
    joined = trimesh.util.concatenate([box, trimesh.Trimesh(panel.vertices, both, process=False)])
    outline = written(joined, tmp_path / "m.stl").footprint(Pose(), 1.0, 1.0)
    assert outline.area == pytest.approx(4, abs=0.01)
    assert outline.bounds == pytest.approx((-1, -1, 5, 1), abs=1e-3)


def test_solids_that_share_a_face_are_one_solid(tmp_path):
    lower, upper = trimesh.creation.box((2, 2, 1)), trimesh.creation.box((2, 2, 1))
    upper.apply_translation((0, 0, 1))
    stack = written(trimesh.util.concatenate([lower, upper]), tmp_path / "stack.stl")
    for height in (-0.3, 0.5, 1.2):
        assert stack.footprint(Pose(), height, height).area == pytest.approx(4, abs=0.01)


def test_non_orientable_surface_has_no_interior(tmp_path):
    u, v = np.meshgrid(np.arange(30) * math.pi / 15, np.arange(16) * math.pi / 8, indexing="ij")
    ring = 3 + np.cos(u / 2) * np.sin(v) - np.sin(u / 2) * np.sin(2 * v)
    height = np.sin(u / 2) * np.sin(v) + np.cos(u / 2) * np.sin(2 * v)
    bottle = np.stack([ring * np.cos(u), ring * np.sin(u), height], axis=2).reshape(-1, 3)
    faces = []
    for i in range(30):
        for j in range(16):
            a, b = 16 * i + j, 16 * i + (j + 1) % 16
            # Klein bottle: after one turn, above and below are exchanged
            c, d = (a + 16, b + 16) if i < 29 else ((16 - j) % 16, (15 - j) % 16)
            faces += [[a, c, b], [b, c, d]]
    mesh = written(trimesh.Trimesh(bottle, faces, process=False), tmp_path / "klein.stl")
    assert not mesh.surface.closed.any()


def test_many_separate_triangles_have_no_interior(tmp_path):
    corners = np.random.default_rng(1).random((60000, 3))
    soup = trimesh.Trimesh(corners, np.arange(60000).reshape(-1, 3), process=False)
    assert not written(soup, tmp_path / "soup.stl").surface.closed.any()


BOX_OBJ = """o box
v 0 0 0
v 1 0 0
v 0 1 0
v 0 0 1
f 1 3 2
f 1 2 4
f 1 4 3
f 2 3 4
"""


def test_comment_in_another_encoding_is_ignored(tmp_path):
    (tmp_path / "a.obj").write_bytes(b"# caf\xe9\n" + BOX_OBJ.encode())
    assert Mesh(tmp_path / "a.obj").bounds(Pose()) == pytest.approx(np.array([[0, 1]] * 3))


def test_comments_after_the_numbers_of_an_obj_are_ignored(tmp_path):
    lines = [f"{line}\t# corner #{number}" for number, line in enumerate(BOX_OBJ.splitlines())]
    (tmp_path / "a.obj").write_text("g left # 1\n" + "\n".join(lines) + "\n")
    assert Mesh(tmp_path / "a.obj").bounds(Pose()) == pytest.approx(np.array([[0, 1]] * 3))
    box = trimesh.creation.box()
    text = trimesh.exchange.stl.export_stl_ascii(box).replace("solid", "solid \xe9", 1)
    (tmp_path / "a.stl").write_bytes(text.encode("latin-1"))
    assert Mesh(tmp_path / "a.stl").bounds(Pose()) == pytest.approx(np.array([[-0.5, 0.5]] * 3))


@pytest.mark.parametrize("stated", [100_000_000, 13])
def test_truncated_binary_stl_is_rejected_with_both_triangle_counts(tmp_path, stated):
    content = trimesh.exchange.stl.export_stl(trimesh.creation.box())
    wrong = content[:80] + stated.to_bytes(4, "little") + content[84:]
    (tmp_path / "a.stl").write_bytes(wrong)
    with pytest.raises(SdfError, match=f"binary STL header states {stated} triangles"):
        Mesh(tmp_path / "a.stl").bounds(Pose())


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e999"])
def test_mesh_with_an_infinite_or_undefined_corner_is_rejected(tmp_path, number):
    (tmp_path / "a.obj").write_text(BOX_OBJ.replace("v 1 0 0", f"v {number} 0 0"))
    with pytest.raises(SdfError, match=r"a\.obj: 3 of 4 triangles"):
        Mesh(tmp_path / "a.obj").footprint(Pose(), 0.3, 0.3)
    stl = trimesh.exchange.stl.export_stl_ascii(trimesh.creation.box())
    (tmp_path / "a.stl").write_text(re.sub(r"vertex \S+", f"vertex {number}", stl, count=1))
    with pytest.raises(SdfError, match=r"a\.stl: 1 of 12 triangles"):
        Mesh(tmp_path / "a.stl").footprint(Pose(), 0.3, 0.3)


def test_mesh_vertices_with_two_coordinates_are_rejected(tmp_path):
    (tmp_path / "a.obj").write_text("v 0 0\nv 1 0\nv 0 1\nf 1 2 3\n")
    with pytest.raises(SdfError, match=r"a\.obj cannot be read"):
        Mesh(tmp_path / "a.obj").footprint(Pose(), 0.3, 0.3)


def test_very_narrow_triangle_has_an_outline():
    long = [(0.27538993900532205, 67.52583047749727), (107.87929928912158, 2.156788650500445)]
    far = (111.20725524840354, 0.13506570739746238)
    sliver = np.array([[(*corner, 0.5) for corner in (*long, far)]])
    outline = surface_slab(sliver, is_closed=False, z_min=0.0, z_max=1.0)
    assert outline.bounds == pytest.approx((0.2754, 0.1351, 111.2073, 67.5258), abs=1e-3)


@pytest.mark.parametrize(
    ("inside", "problem"),
    [
        ("<scale>2 2 2</scale>", r":\d+: <mesh> has no <uri>"),
        (
            "<filename>a.stl</filename>",
            r"no <uri> \(<filename> is not read\)",
        ),
    ],
)
def test_mesh_without_uri_is_rejected(tmp_path, inside, problem):
    path = tmp_path / "a.world"
    path.write_text(world(model("a", link("a", shape=f"<mesh>{inside}</mesh>"))))
    with pytest.raises(SdfError, match=problem):
        read_scene(path)


def test_mesh_that_declares_entities_is_rejected(collada):
    path = collada()
    text = path.read_text().replace("?>", '?><!DOCTYPE x [<!ENTITY e SYSTEM "/etc/hosts">]>', 1)
    path.write_text(text)
    with pytest.raises(SdfError, match="declares entities; remove its DOCTYPE"):
        Mesh(path).bounds(Pose())


def test_height_image_that_is_too_large_is_rejected_without_decoding(tmp_path):
    with (tmp_path / "h.pgm").open("wb") as stream:
        stream.write(b"P5 65537 65537 255\n")
        stream.truncate(65537 * 65537 + 19)
    with pytest.raises(SdfError, match=r"height map .*h\.pgm"):
        Heightmap(tmp_path / "h.pgm", (1.0, 1.0, 1.0)).bounds(Pose())


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "git lfs pull"),
        (b"", "Document is empty"),
        (b"no mesh at all", "it is not XML; export it again"),
    ],
)
def test_file_that_is_not_a_mesh_is_rejected_with_its_kind(tmp_path, content, problem):
    path = tmp_path / "part.dae"
    path.write_bytes(content)
    with pytest.raises(SdfError, match=problem):
        Mesh(path).bounds(Pose())


def test_an_open_surface_has_an_outline_at_each_height():
    """Rounding must not place the cut at a height outside of a slab without thickness."""
    tube = trimesh.creation.cylinder(0.1, 3.0, sections=12)
    sides = tube.triangles[np.abs(tube.face_normals[:, 2]) < 0.5]
    for height in np.arange(0.01, 1.4, 0.01):
        outline = surface_slab(sides, is_closed=False, z_min=height, z_max=height)
        assert shapely.area(shapely.convex_hull(outline)) == pytest.approx(0.03, abs=0.001), height


def test_an_oblique_open_wall_has_an_outline_at_each_position():
    """Rounding turns its section into slivers, which must not replace the wall."""
    for seed in range(60):
        random = np.random.default_rng(seed)
        start = random.uniform(-10, 10, 2)
        end = start + random.uniform(0.1, 0.5)
        low_start, high_start = (*start, 0.0), (*start, 6.7)
        low_end, high_end = (*end, 0.0), (*end, 6.7)
        wall = [[low_start, high_end, high_start], [low_start, low_end, high_end]]
        height = random.uniform(0.1, 6.6)
        outline = surface_slab(np.array(wall), is_closed=False, z_min=height, z_max=height)
        assert shapely.covers(shapely.buffer(outline, 3e-4), shapely.linestrings([start, end])), (
            seed
        )


def test_a_closed_sheet_without_volume_has_an_outline():
    """The two sides of a sheet can have different diagonals, as in gazebo_models/cube_20k."""
    a, b, c, d = (0, 0, 0), (1, 0, 0), (1, 0, 1), (0, 0, 1)
    sheet = np.array([[a, b, c], [a, c, d], [b, a, d], [b, d, c]], dtype=float)
    for z_max in (0.4, 0.6):
        outline = surface_slab(sheet, is_closed=True, z_min=0.4, z_max=z_max)
        assert outline.bounds == pytest.approx((0, 0, 1, 0), abs=2e-4)


def test_corners_of_a_solid_that_differ_by_rounding_errors_are_joined():
    box = trimesh.creation.box((2, 2, 2)).triangles
    errors_m = np.random.default_rng(0).uniform(-2e-8, 2e-8, box.shape)
    triangles, is_solid = find_solids(box + errors_m)
    outline = surface_slab(triangles[is_solid], is_closed=True, z_min=0.3, z_max=0.3)
    assert outline.area == pytest.approx(4)


def test_a_matrix_of_a_collada_node_excludes_its_other_transforms(tmp_path):
    """As in Gazebo 11, which was compared with gazebo_models/house_3."""
    moved = "<translate>1 0 0</translate>"
    matrix = "<matrix>1 0 0 5 0 1 0 0 0 0 1 0 0 0 0 1</matrix>"
    bounds = []
    for text in (moved, matrix, moved + matrix, matrix + moved):
        file = tmp_path / f"{len(bounds)}.dae"
        file.write_text(COLLADA.format(unit=1, up="Z_UP").replace(moved, text))
        bounds.append(Mesh(path=file, submesh="left").bounds(Pose())[0].tolist())
    assert bounds == [[1.0, 3.0], [5.0, 7.0], [5.0, 7.0], [5.0, 7.0]]


def collada_of(path, nodes, library=""):
    """Write a COLLADA file with these nodes, and return its path."""
    text = COLLADA.format(unit=1, up="Z_UP")
    head, scene = text.index("<library_visual_scenes>"), text.index("</visual_scene>")
    library = f"<library_nodes>{library}</library_nodes>" if library else ""
    scenes = '<library_visual_scenes><visual_scene id="s">'
    path.write_text(text[:head] + library + scenes + nodes + text[scene:])
    return path


def moved_shape(x_m, shape):
    return f'<translate>{x_m} 0 0</translate><instance_geometry url="#{shape}"/>'


def test_instances_of_a_collada_geometry_are_all_where_the_first_one_is(tmp_path):
    """As in Gazebo 11, which was compared with its reading of such a file."""
    nodes = f"<node>{moved_shape(5, 'g')}</node><node>{moved_shape(9, 'g')}</node>"
    x_m = Mesh(collada_of(tmp_path / "m.dae", nodes)).bounds(Pose())[0]
    assert x_m == pytest.approx([5, 7])


@pytest.mark.parametrize(
    ("nodes", "shapes"),
    [
        # A node is read before the shapes of its parent, which then have the name of the node.
        (
            f'<node name="p">{moved_shape(1, "g")}<node name="c">{moved_shape(9, "h")}'
            "</node></node>",
            [("c", 10), ("c", 1)],
        ),
        (f'<node name="p"/><node>{moved_shape(9, "h")}</node>', [("p", 9)]),
        # Of several <instance_node>, only the first one is read, and no other shape of the node.
        (
            f'<node><instance_node url="#a"/><instance_node url="#b"/>{moved_shape(1, "g")}</node>',
            [("a", 21)],
        ),
    ],
)
def test_collada_nodes_are_read_in_the_order_of_gazebo(tmp_path, nodes, shapes):
    """Gazebo 11 reads the same shapes, in the same order and with the same names."""
    library = "".join(
        f'<node id="{name}" name="{name}">{moved_shape(x_m, "h")}</node>'
        for name, x_m in (("a", 20), ("b", 30))
    )
    parts = mesh_parts(collada_of(tmp_path / "m.dae", nodes, library), 0)
    assert [(name, triangles[..., 0].min()) for name, triangles in parts] == shapes


def test_submesh_is_the_first_of_several_with_its_name(tmp_path):
    """As in Gazebo 11, whose rays detect only the first one."""
    shapes = ((5, "g"), (1, "h"))
    nodes = "".join(f'<node name="p">{moved_shape(*shape)}</node>' for shape in shapes)
    x_m = Mesh(collada_of(tmp_path / "m.dae", nodes), submesh="p").bounds(Pose())[0]
    assert x_m == pytest.approx([5, 7])
