"""The solid that Scenic collides with is never smaller than the model, and has its bounds."""

import numpy as np
import pytest

from gz_testauto.base.errors import SdfError
from gz_testauto.extras.scenic.solids import solid_of


def solid(tmp_path, *parts, static="true"):
    body = "".join(
        f'<collision name="c{number}"><pose>{pose}</pose><geometry>{geometry}</geometry>'
        "</collision>"
        for number, (pose, geometry) in enumerate(parts)
    )
    path = tmp_path / "model.sdf"
    path.write_text(
        f'<sdf version="1.6"><model name="m"><static>{static}</static><pose>9 9 9 0 0 1</pose>'
        f'<link name="l"><pose>1 0 0 0 0 0</pose>{body}</link></model></sdf>'
    )
    return solid_of(path, [tmp_path])


BOX = "<box><size>1 2 3</size></box>"
CYLINDER = "<cylinder><radius>0.5</radius><length>2</length></cylinder>"
SPHERE = "<sphere><radius>0.3</radius></sphere>"


def test_a_solid_includes_the_poses_of_links_and_collisions(tmp_path):
    found = solid(tmp_path, ("0 1 0 0 0 0", BOX))
    assert found.center.tolist() == [1, 1, 0]
    assert found.size.tolist() == [1, 2, 3]
    assert found.is_box


def test_a_rotated_box_is_not_treated_as_an_axis_aligned_box(tmp_path):
    found = solid(tmp_path, ("0 0 0 0 0 0.5", BOX))
    assert not found.is_box
    assert found.primitive is None
    assert found.mesh.volume == pytest.approx(6)


@pytest.mark.parametrize(("geometry", "volume"), [(CYLINDER, np.pi / 2), (SPHERE, 0.1130973)])
def test_a_round_solid_contains_the_true_shape_and_has_its_bounds(tmp_path, geometry, volume):
    found = solid(tmp_path, ("0 0 0 0 0 0", geometry))
    assert np.allclose(found.mesh.bounds.T, found.bounds, atol=1e-9)
    assert volume < found.mesh.volume < 1.02 * volume
    axes = {"cylinder": "xy", "sphere": "xyz"}[geometry[1 : geometry.index(">")]]
    assert found.round_axes == axes


def test_overlapping_parts_are_joined_into_one_solid(tmp_path):
    found = solid(tmp_path, ("0 0 0 0 0 0", BOX), ("0 0 2 0 0 0", BOX), ("5 0 0 0 0 0", BOX))
    assert found.mesh.is_volume
    assert found.mesh.volume == pytest.approx(6 + 4 + 6)
    assert found.primitive is None


def test_a_mesh_with_a_hole_is_replaced_by_its_convex_hull(tmp_path):
    (tmp_path / "open.obj").write_text(
        "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0.5 0.5 1\nf 1 2 5\nf 2 3 5\nf 3 4 5\nf 4 1 5\n"
    )
    found = solid(tmp_path, ("0 0 0 0 0 0", "<mesh><uri>open.obj</uri></mesh>"))
    assert found.mesh.is_volume
    assert "open.obj does not enclose a volume" in found.notes[0]


def test_the_solid_of_a_flat_sheet_has_a_thickness(tmp_path):
    found = solid(tmp_path, ("0 0 0 0 0 0", "<box><size>1 1 0</size></box>"))
    assert found.mesh.is_volume
    assert found.size[2] == pytest.approx(1e-3)


def test_a_model_that_is_a_plane_is_rejected(tmp_path):
    with pytest.raises(SdfError, match="<plane>, which has no size"):
        solid(tmp_path, ("0 0 0 0 0 0", "<plane><normal>0 0 1</normal></plane>"))


def test_a_model_without_collision_and_visual_is_rejected(tmp_path):
    with pytest.raises(SdfError, match="the model has no size"):
        solid(tmp_path)


@pytest.mark.filterwarnings("error")
def test_a_closed_part_without_volume_becomes_a_plate_without_a_warning(tmp_path):
    cube = (
        "v 3 0 0\nv 4 0 0\nv 4 1 0\nv 3 1 0\nv 3 0 1\nv 4 0 1\nv 4 1 1\nv 3 1 1\n"
        "f 5 8 7 6\nf 9 10 11 12\nf 5 6 10 9\nf 6 7 11 10\nf 7 8 12 11\nf 8 5 9 12\n"
    )
    flat = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3\nf 1 4 2\nf 2 4 3\nf 1 3 4\n"
    (tmp_path / "both.obj").write_text(flat.replace("f", cube + "f", 1))
    found = solid(tmp_path, ("0 0 0 0 0 0", "<mesh><uri>both.obj</uri></mesh>"))
    assert found.mesh.volume == pytest.approx(1 + 1e-3)
    assert not found.notes
