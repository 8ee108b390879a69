import pytest

from gz_testauto.base.errors import SpecError
from gz_testauto.extras.scenic.descriptor import load_descriptor


def load(tmp_path, text):
    path = tmp_path / "models.yaml"
    path.write_text(text)
    return load_descriptor(path)


def test_every_key_of_a_gzscenic_descriptor_is_accepted(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "empty.world").write_text("<sdf/>")
    descriptor = load(
        tmp_path,
        """
world: empty.world
models_dir: parts/
models:
  - {name: fetch, type: MISSION_ONLY, width: 0.57, length: 0.53, heading: -1.57}
  - {name: cafe_table, type: GAZEBO_MODEL, allow_collisions: True, z: -1}
  - {name: demo_cube, type: CUSTOM_MODEL, dynamic_size: False, url: "http://example.org/c.zip"}
""",
    )
    fetch, table, cube = descriptor.models
    assert (fetch.width, fetch.length, fetch.heading) == (0.57, 0.53, -1.57)
    assert (table.allow_collisions, table.z) == (True, -1)
    assert (cube.dynamic_size, cube.url) == (False, "http://example.org/c.zip")
    assert descriptor.models_dir == tmp_path / "parts"
    assert descriptor.world == tmp_path / "empty.world"


def test_models_dir_is_by_default_the_directory_of_the_descriptor(tmp_path):
    descriptor = load(tmp_path, "models: [{name: goal, type: MISSION_ONLY}]")
    assert descriptor.models_dir == tmp_path


def test_default_front_is_x_for_a_mission_item_and_y_for_a_model(tmp_path):
    descriptor = load(
        tmp_path,
        """
models:
  - {name: robot, type: MISSION_ONLY}
  - {name: shelf, type: GAZEBO_MODEL}
  - {name: car, type: GAZEBO_MODEL, front: x}
""",
    )
    assert [model.faces for model in descriptor.models] == ["x", "y", "x"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{name: a, type: MODEL}", "models[1].type is \"MODEL\"; it must be 'MISSION_ONLY'"),
        (
            "{name: grey_wall, type: MISSION_ONLY}",
            "models[1].name results in the class name",
        ),
        ("{name: a, type: GAZEBO_MODEL, dynamic_size: big}", "models[1].dynamic_size"),
        ("{name: a, type: GAZEBO_MODEL, sise: 1}", "models[1]: unknown key 'sise'"),
        (
            "{name: a, type: GAZEBO_MODEL, width: 1}",
            "models[1].width is allowed only for the type MISSION_ONLY",
        ),
        ("{name: a, type: MISSION_ONLY, width: 0}", "models[1].width is 0; it must be > 0"),
        ("{name: a/b, type: GAZEBO_MODEL}", "models[1].name is 'a/b'"),
        (
            "{name: a, type: GAZEBO_MODEL, url: x}",
            "models[1].url is allowed only for the type CUSTOM_MODEL",
        ),
        ("{name: a, type: GAZEBO_MODEL, color: [1]}", "models[1].color has 1 numbers"),
        ("{name: a, type: GAZEBO_MODEL, front: z}", 'models[1].front is "z"'),
        ("{type: GAZEBO_MODEL}", "models[1].name is missing"),
    ],
)
def test_a_descriptor_error_states_file_line_and_field(tmp_path, line, message):
    text = f"models:\n  - {{name: b, type: MISSION_ONLY}}\n  - {line}\n"
    with pytest.raises(SpecError) as refused:
        load(tmp_path, text)
    assert f"models.yaml:3: {message}" in str(refused.value)


def test_two_models_with_the_same_class_name_are_rejected(tmp_path):
    with pytest.raises(SpecError, match=r"'box_a' and 'box-a', .*BoxA"):
        load(
            tmp_path,
            "models: [{name: box_a, type: GAZEBO_MODEL}, {name: box-a, type: GAZEBO_MODEL}]",
        )
