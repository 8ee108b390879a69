"""Models as public collections have them: each is placed, or refused with a remedy that works."""

import numpy as np
import pytest
import yaml
from PIL import Image

from gz_testauto.base.errors import PlacementError, SpecError
from gz_testauto.sdf.document import SdfDocument

pytestmark = pytest.mark.usefixtures("needs_scenic")

MODEL = (
    '<sdf version="{version}"><model name="part"><static>1</static><link name="l">{body}</link>'
    "{more}</model></sdf>"
)
SHAPE = '<{kind} name="s"><geometry>{geometry}</geometry></{kind}>'
MESH = "<mesh><uri>part.obj</uri>{more}</mesh>"
SQUARE_OUTLINE = "".join(f"<point>{x} {y}</point>" for x, y in ((0, 0), (2, 0), (2, 1), (0, 1)))

CUBE = """
o cube
v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1
f 1 4 3 2\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8
"""
TENT = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0.5 0.5 1\nf 1 2 5\nf 2 3 5\nf 3 4 5\nf 4 1 5\n"
SHEET = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3\nf 1 4 2\nf 2 4 3\nf 1 3 4\n"
"""A tetrahedron whose corners are in one plane: closed, without a volume."""
LEANING_SHEET = "v 0 0 0\nv 1 0 1\nv 1 1 1\nv 0 1 0\nf 1 2 3\nf 3 4 1\n"


def drum(noise_m=1e-8):
    """Corners on two circles, each three times with the noise of 32-bit floats, and faces with gaps
    between them: the hull that Qhull makes of it has gaps as well."""
    random = np.random.default_rng(3)
    angles = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    rim = 0.5 * np.column_stack([np.cos(angles), np.sin(angles)])
    once = np.vstack([np.column_stack([rim, np.full(24, z)]) for z in (0, 0.9)])
    points = np.vstack([once, *(once + random.normal(0, noise_m, once.shape) for _ in "ab")])
    corners = "".join(f"v {x:.17g} {y:.17g} {z:.17g}\n" for x, y, z in points)
    return corners + "".join(f"f {i} {i + 1} {i + 2}\n" for i in range(1, len(points) - 1))


def collision(geometry):
    return SHAPE.format(kind="collision", geometry=geometry)


def mesh(more=""):
    return collision(MESH.format(more=more))


KINDS = {
    "box": (collision("<box><size>1 2 3</size></box>"), "", (1, 2, 3)),
    "ball": (collision("<sphere><radius>0.5</radius></sphere>"), "", (1, 1, 1)),
    "can": (
        collision("<cylinder><radius>0.5</radius><length>2</length></cylinder>"),
        "",
        (1, 1, 2),
    ),
    "outline": (
        collision(f"<polyline>{SQUARE_OUTLINE}<height>0.5</height></polyline>"),
        "",
        (2, 1, 0.5),
    ),
    "closed": (mesh(), CUBE, (1, 1, 1)),
    "scaled": (mesh("<scale>1 2 0.5</scale>"), CUBE, (1, 2, 0.5)),
    "mirrored": (mesh("<scale>-1 2 0.5</scale>"), CUBE, (1, 2, 0.5)),
    "gaps": (mesh(), TENT, (1, 1, 1)),
    "sheet": (mesh(), SHEET, (1, 1, 0.001)),
    "leaning": (mesh(), LEANING_SHEET, (1, 1, 1)),
    "drum": (mesh(), drum(), (1, 1, 0.9)),
    "drawing": (SHAPE.format(kind="visual", geometry=MESH.format(more="")), CUBE, (1, 1, 1)),
    "nested": ("", "", (1, 2, 3)),
}
INCLUDE_BOX = "<include><uri>model://box</uri><pose>0 0 1 0 0 0</pose></include>"


@pytest.mark.slow
def test_each_type_of_geometry_is_placed_with_its_size(workshop):
    for name, (body, obj, _) in KINDS.items():
        more = INCLUDE_BOX if name == "nested" else ""
        workshop.model(name, MODEL.format(version="1.5", body=body, more=more))
        (workshop.folder / "parts" / name / "part.obj").write_text(obj)
    lines = [
        f"new {name.capitalize()} at {5 * number} @ 0, facing 0 deg\n"
        for number, name in enumerate(KINDS)
    ]
    objects = workshop.source("".join(lines)).generate(0).objects
    for (_, placed), (name, (_, _, size)) in zip(objects, KINDS.items()):
        drawn = (placed.width, placed.length, placed.height)
        assert drawn == pytest.approx(size, abs=1e-6), name
        assert placed.occupiedSpace.mesh.is_volume, name


BOX = collision("<box><size>1 1 1</size></box>")
MALFORMED = [
    MODEL.format(version="1.6", body="<pose frame=>0 0 0 0 0 0</pose>" + BOX, more=""),
    MODEL.format(version="1.6", body="<!-- aluminium -- 2700 -->" + BOX, more=""),
    '\n<?xml version="1.0"?>\n' + MODEL.format(version="1.6", body=BOX, more=""),
]


def test_malformed_xml_that_gazebo_accepts_is_repaired_in_the_copy_and_noted(workshop):
    for number, sdf in enumerate(MALFORMED):
        workshop.model(f"part{number}", sdf)
    source = workshop.source(
        "new Part0 at 0 @ 0, with width 1.5\nnew Part1 at 5 @ 5\nnew Part2 at 9 @ 9\n"
    )
    assert len(source.generate(0).objects) == 3
    for number, sdf in enumerate(MALFORMED):
        original = workshop.folder / "parts" / f"part{number}" / "model.sdf"
        assert any(f"{original}: repaired line" in note for note in source.notes)
        copy = source.shared_files[f"models/part{number}/model.sdf"]
        assert SdfDocument.parse(copy).model is not None
        assert original.read_text() == sdf


@pytest.mark.slow
@pytest.mark.parametrize("included", [True, False])
def test_a_malformed_base_world_and_its_malformed_models_are_repaired(workshop, included):
    parts = workshop.folder / "parts" / "stage"
    parts.mkdir(parents=True)
    comment = "<!-- a -- b -->"
    inside = comment if included else ""
    (parts / "model.sdf").write_text(MODEL.format(version="1.6", body=inside + BOX, more=""))
    (workshop.folder / "base.world").write_text(
        f'<sdf version="1.6">{"" if included else comment}<world name="w">'
        "<include><uri>model://stage</uri></include></world></sdf>"
    )
    workshop.entry("waypoint", "MISSION_ONLY")
    data = yaml.safe_load(workshop.descriptor.read_text())
    workshop.descriptor.write_text(yaml.safe_dump({**data, "world": "base.world"}))
    source = workshop.source("new Waypoint at 3 @ 3\n")
    assert b"model://stage" in source.generate(0).content
    assert any("repaired line" in note for note in source.notes)


PLANE = MODEL.format(
    version="1.6", body=collision("<plane><normal>0 0 1</normal></plane>"), more=""
)
TERRAIN = MODEL.format(
    version="1.6",
    body=collision("<heightmap><uri>h.png</uri><size>8 8 1</size></heightmap>"),
    more="",
)
LIGHT = '<sdf version="1.6"><light name="lamp" type="point"><pose>0 0 5 0 0 0</pose></light></sdf>'


@pytest.mark.parametrize(
    ("sdf", "complaint"),
    [
        (PLANE, "<plane>"),
        (TERRAIN, "<heightmap>"),
        (LIGHT, "no <model>"),
    ],
)
def test_a_model_without_a_size_is_rejected_with_a_valid_remedy(workshop, sdf, complaint):
    workshop.model("part", sdf)
    Image.fromarray(np.zeros((5, 5), dtype=np.uint8)).save(
        workshop.folder / "parts" / "part" / "h.png"
    )
    with pytest.raises(SpecError, match=f"{complaint}.*<include> it in"):
        workshop.source("new Part at 0 @ 0\n")
    (workshop.folder / "base.world").write_text(
        '<sdf version="1.6"><world name="w"><include><uri>model://part</uri></include></world></sdf>'
    )
    workshop.descriptor.write_text(
        yaml.safe_dump(
            {
                "models_dir": "parts",
                "world": "base.world",
                "models": [{"name": "waypoint", "type": "MISSION_ONLY"}],
            }
        )
    )
    source = workshop.source("new Waypoint at 0 @ 0\n")
    assert b"model://part" in source.generate(0).content
    assert "models/part/model.sdf" in source.shared_files


INCLUDING = MODEL.format(
    version="1.6", body=BOX, more="<include><uri>model://missing</uri></include>"
)
NAMING = MODEL.format(version="1.6", body=BOX + mesh(), more="")


@pytest.mark.slow
@pytest.mark.parametrize(("sdf", "missing"), [(INCLUDING, "model://missing"), (NAMING, "part.obj")])
def test_a_missing_model_file_is_reported_with_valid_remedies(workshop, monkeypatch, sdf, missing):
    workshop.model("part", sdf)
    with pytest.raises(SpecError) as refused:
        workshop.source("new Part at 0 @ 0\n")
    said = refused.value.full
    assert missing in said
    assert "remove it from a copy of the model in models_dir" in said
    assert "--" not in said, "the verb has no option for it"
    copy = workshop.folder / "parts" / "part" / "model.sdf"
    copy.write_text(MODEL.format(version="1.6", body=BOX, more=""))
    workshop.source("new Part at 0 @ 0\n").generate(0)
    copy.write_text(sdf)
    extra = workshop.folder / "extra" / "missing"
    extra.mkdir(parents=True)
    (extra / "model.sdf").write_text(MODEL.format(version="1.6", body=BOX, more=""))
    (workshop.folder / "parts" / "part" / "part.obj").write_text(CUBE)
    monkeypatch.setenv("GAZEBO_MODEL_PATH", str(extra.parent))
    workshop.source("new Part at 0 @ 0\n").generate(0)


HUT = "".join(
    f"v {x} {y} {z}\n" for z in (0, 2) for x, y in ((-2, -2), (2, -2), (2, 2), (-2, 2))
) + ("f 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n")
"""Four walls without a floor and a roof."""


@pytest.mark.slow
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_objects_fit_inside_a_hollow_model_but_do_not_intersect_its_walls(workshop, monkeypatch):
    from gz_testauto.extras.scenic import sampler

    monkeypatch.setattr(sampler, "MOST_DRAWS", 20)
    monkeypatch.setattr(sampler, "DIAGNOSED", 5)
    workshop.box("crate", "1 1 1")
    workshop.model("hut", MODEL.format(version="1.6", body=mesh(), more=""))
    (workshop.folder / "parts" / "hut" / "part.obj").write_text(HUT)
    inside = "new Hut at 0 @ 0, facing 0 deg\nnew Crate at Range(0, 0.1) @ 0.3, facing 0 deg\n"
    filled = workshop.source(inside)
    with pytest.raises(PlacementError, match="without collision"):
        filled.generate(0)
    assert any("`hollow: true` in the descriptor" in note for note in filled.notes)
    workshop.models[-1]["hollow"] = True
    workshop.entry("waypoint", "MISSION_ONLY")
    hollow = workshop.source(inside)
    ((_, hut), _) = hollow.generate(0).objects
    assert (hut.width, hut.length, hut.height) == pytest.approx((4, 4, 2))
    assert not hollow.notes
    with pytest.raises(PlacementError, match="without collision"):
        workshop.source(inside.replace("Range(0, 0.1)", "Range(1.6, 1.9)")).generate(0)
