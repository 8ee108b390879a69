"""Models of obstacles in any size have the size, mass and name that their SDF states."""

import math

import numpy as np
import pytest

from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.sampling.models import ObstacleModel, read_model, type_of
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.floor import Heights
from gz_testauto.sdf.scene import read_scene

CRATE = """<sdf version="1.6"><model name="crate"><static>false</static>
  <link name="body"><pose>0 0 0.5 0 0 0</pose>
    <inertial><mass>8</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>
    <collision name="c"><geometry><box><size>1 2 1</size></box></geometry></collision>
    <visual name="v"><geometry><box><size>1 2 1</size></box></geometry></visual>
  </link></model></sdf>"""

SIGN = """<sdf version="1.6"><model name="sign"><link name="l">
    <inertial><pose>0 0 1 0 0 0</pose><mass>2</mass>
      <inertia><ixx>3</ixx><ixy>0.5</ixy></inertia></inertial>
    <collision name="foot"><pose>0 0 0.1 0 0 0</pose>
      <geometry><cylinder><radius>0.3</radius><length>0.2</length></cylinder></geometry></collision>
    <collision name="board"><pose>0.4 0 1.2 0 0 0</pose>
      <geometry><box><size>1 0.1 0.5</size></box></geometry></collision>
  </link></model></sdf>"""

SIZES = {"box": (0.5, 2.0, 3.0), "cylinder": (0.4, 1.5), "sphere": (0.7,)}


def saved(tmp_path, text):
    path = tmp_path / "model.sdf"
    path.write_text(text)
    return path


def scene_of(model, size, mass=10.0, static=False, pose=None):
    text = model.sdf("obstacle_x_0", pose or Pose(), size, mass, static)
    return read_scene(SdfDocument.parse(f'<sdf version="1.6">{text}</sdf>'))


@pytest.mark.parametrize("type_", sorted(SIZES))
def test_a_unit_shape_has_a_size_of_one_meter_and_its_frame_in_the_center(type_):
    model = ObstacleModel.unit(type_)
    assert model.static
    bounds = next(iter(scene_of(model, model.size).models.values())).bounds
    assert np.allclose(bounds, [[-0.5, 0.5]] * 3)
    assert model.height_of_frame_m(model.size) == pytest.approx(0.5)


@pytest.mark.parametrize("type_", sorted(SIZES))
def test_a_written_model_has_the_requested_size_pose_and_name(type_):
    model, size = ObstacleModel.unit(type_), SIZES[type_]
    pose = Pose.from_rpy(1.0, 2.0, 3.0, 0.0, 0.0, 0.5)
    placed = scene_of(model, size, static=False, pose=pose).models["obstacle_x_0"]
    geometry = placed.collisions[0].geometry
    extents = {"box": "size", "cylinder": "radius length", "sphere": "radius"}[type_].split()
    found = [getattr(geometry, name) for name in extents]
    assert tuple(np.hstack(found)) == size
    assert placed.pose.to_text() == pose.to_text()
    assert not placed.static


@pytest.mark.parametrize("type_", sorted(SIZES))
def test_outline_of_an_obstacle_equals_that_of_its_written_model(type_):
    model, size = ObstacleModel.unit(type_), SIZES[type_]
    written = scene_of(model, size).models["obstacle_x_0"].footprint(-9, 9)
    outline = model.outline(size).polygon
    assert outline.symmetric_difference(written).area < 0.005 * written.area


@pytest.mark.parametrize("type_", sorted(SIZES))
def test_mass_of_an_obstacle_is_density_times_volume(type_):
    volumes = {
        "box": 3.0, "cylinder": math.pi * 0.16 * 1.5, "sphere": 4 / 3 * math.pi * 0.343
    }  # fmt: skip
    model = ObstacleModel.unit(type_)
    assert model.mass_of(SIZES[type_], 7.0) == pytest.approx(7.0 * volumes[type_])
    # Unit shapes have 100 kg/m³; without a density the mass is scaled with the volume.
    assert model.mass_of(SIZES[type_], None) == pytest.approx(100.0 * volumes[type_])


@pytest.mark.parametrize("mass", ["-5", "nan", "heavy"])
def test_model_with_an_impossible_mass_is_rejected(tmp_path, mass):
    with pytest.raises(SdfError, match=r"has a mass of -5 kg|<mass> is '(nan|heavy)'"):
        read_model("box", saved(tmp_path, CRATE.replace("<mass>8</mass>", f"<mass>{mass}</mass>")))


def test_text_after_the_mass_of_a_model_is_ignored_as_in_gazebo(tmp_path, caplog):
    text = CRATE.replace("<mass>8</mass>", "<mass>8 8</mass>")
    assert read_model("box", saved(tmp_path, text)).mass_kg == 8.0
    assert "<mass> is '8 8'; the text after the first 1 is ignored" in caplog.text


def moments(text):
    root = SdfDocument.parse(f'<sdf version="1.6">{text}</sdf>').root
    return [float(root.findtext(f".//inertia/{name}")) for name in ("ixx", "iyy", "izz")]


@pytest.mark.parametrize(
    ("type_", "expected"),
    [
        ("box", [12 / 12 * (4 + 9), 12 / 12 * (0.25 + 9), 12 / 12 * (0.25 + 4)]),
        ("cylinder", [0.48 + 2.25, 0.48 + 2.25, 0.96]),
        ("sphere", [0.4 * 12 * 0.49] * 3),
    ],
)
def test_resized_obstacle_has_the_inertia_of_the_homogeneous_shape(type_, expected):
    text = ObstacleModel.unit(type_).sdf("o", Pose(), SIZES[type_], 12.0, False)
    assert moments(text) == pytest.approx(expected)


def test_a_model_with_an_offset_of_its_shape_touches_the_ground_in_each_size(tmp_path):
    model = read_model("box", saved(tmp_path, CRATE))
    assert (model.size, model.static, model.mass_kg) == ((1.0, 2.0, 1.0), False, 8.0)
    size = (2.0, 2.0, 3.0)
    assert model.mass_of(size, None) == pytest.approx(48.0)
    lift = model.height_of_frame_m(size)
    pose = Pose((0.0, 0.0, lift))
    bounds = scene_of(model, size, 48.0, pose=pose).models["obstacle_x_0"].bounds
    assert bounds[2].tolist() == pytest.approx([0.0, 3.0])
    assert bounds[1].tolist() == pytest.approx([-1.0, 1.0])


def test_a_model_is_scaled_with_its_mass_and_inertia(tmp_path):
    model = read_model("model", saved(tmp_path, SIGN))
    assert model.size == (1.0,)
    before = scene_of(model, (1.0,)).models["obstacle_x_0"].bounds
    text = model.sdf("obstacle_x_0", Pose(), (2.0,), model.mass_of((2.0,), None), False)
    document = SdfDocument.parse(f'<sdf version="1.6">{text}</sdf>')
    after = read_scene(document).models["obstacle_x_0"].bounds
    assert np.allclose(after, 2 * before)
    assert float(document.root.findtext(".//mass")) == 2.0 * 8
    assert model.mass_of((3.0,), None) == 2.0 * 27
    assert float(document.root.findtext(".//ixx")) == 3.0 * 32
    assert document.root.findtext(".//inertial/pose").split()[2] == "2"
    outline = model.outline((2.0,)).polygon
    assert outline.symmetric_difference(
        read_scene(document).models["obstacle_x_0"].footprint(-9, 9)
    ).area == pytest.approx(0, abs=0.01)


@pytest.mark.parametrize(
    ("text", "type_", "problem"),
    [
        (SIGN, "box", "model 'sign' .* box; "),
        (CRATE, "cylinder", "model 'crate' .* cylinder; "),
        (CRATE.replace("<pose>0 0 0.5 0 0 0", "<pose>0 0 0.5 0 1 0"), "box", "is rotated relative"),
        ("<sdf version='1.6'/>", "model", "no <model>"),
        ("<sdf version='1.6'><model name='m'><link name='l'/></model></sdf>", "model",
         "has no collision shape"),
    ],
)  # fmt: skip
def test_a_model_of_another_kind_is_rejected(tmp_path, text, type_, problem):
    with pytest.raises(SdfError, match=problem):
        read_model(type_, saved(tmp_path, text))


def test_obstacle_type_follows_from_the_geometry_of_a_model():
    for type_ in SIZES:
        model = ObstacleModel.unit(type_)
        assert type_of(scene_of(model, SIZES[type_]).models["obstacle_x_0"]) == type_
    sign = read_scene(SdfDocument.parse(SIGN)).models["sign"]
    assert type_of(sign) == "model"


def test_special_characters_of_xml_in_a_name_are_escaped():
    text = ObstacleModel.unit("box").sdf('a<"&b', Pose(), (1.0, 1.0, 1.0), 1.0, True)
    assert SdfDocument.parse(f'<sdf version="1.6">{text}</sdf>').model.get("name") == 'a<"&b'


def test_the_error_for_infinite_moments_of_inertia_names_the_file(tmp_path):
    text = CRATE.replace("<size>1 2 1</size>", "<size>1 2 1e308</size>")
    model = read_model("box", saved(tmp_path, text))
    with pytest.raises(SdfError, match=r"model\.sdf:1: "):
        model.sdf("obstacle_x_0", Pose(), model.size, 10.0, False)


@pytest.mark.parametrize(
    ("scale", "low_m", "high_m", "area_m2", "x_m"),
    [
        (1.0, 0.0, 0.1, math.pi * 0.3**2, 0.0),
        (2.0, 0.0, 0.3, math.pi * 0.6**2, 0.0),
        (2.0, 2.0, 2.5, 2.0 * 0.2, 0.8),
        (2.0, 0.5, 1.5, 0.0, None),
        (2.0, 3.0, 9.0, 0.0, None),
    ],
)
def test_a_scaled_model_is_cut_at_heights_above_its_lowest_point(
    tmp_path, scale, low_m, high_m, area_m2, x_m
):
    part = read_model("model", saved(tmp_path, SIGN)).cut((scale,), Heights(low_m, high_m))
    assert part.core.area == pytest.approx(area_m2, rel=0.01)
    assert part.core.is_empty == (x_m is None)
    assert x_m is None or part.core.centroid.x == pytest.approx(x_m)
