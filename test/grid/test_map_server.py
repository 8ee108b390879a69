import numpy as np
import pytest
import shapely
import yaml

from gz_testauto.base.errors import SpecError
from gz_testauto.grid.map_server import read_map, write_map
from gz_testauto.grid.occupancy import OccupancyGrid


def lopsided_grid():
    shapes = [shapely.box(0.0, 0.0, 0.3, 0.1), shapely.box(0.9, 1.9, 1.0, 2.0)]
    return OccupancyGrid.rasterize(shapes, (-0.5, -0.25, 1.5, 2.25), 0.05)


def probe(yaml_path, x, y):
    """Return the state of a point, computed as map_server's documentation describes."""
    fields = yaml.safe_load(yaml_path.read_text())
    data = (yaml_path.parent / fields["image"]).read_bytes()
    lines = data.split(b"\n", 4)
    width, height = map(int, lines[2].split())
    pixels = data[-width * height :]
    column = int((x - fields["origin"][0]) / fields["resolution"])
    row_from_top = height - 1 - int((y - fields["origin"][1]) / fields["resolution"])
    p = (255 - pixels[row_from_top * width + column]) / 255.0
    if p > fields["occupied_thresh"]:
        return "occupied"
    return "free" if p < fields["free_thresh"] else "unknown"


def test_written_map_has_the_states_that_map_server_reads(tmp_path):
    grid = lopsided_grid()
    unknown = np.zeros_like(grid.occupied)
    unknown[-1, :] = True
    description, _ = write_map(grid, tmp_path, "m", unknown)
    assert probe(description, 0.15, 0.05) == "occupied"
    assert probe(description, 0.95, 1.95) == "occupied"
    assert probe(description, 0.95, 0.05) == "free"
    assert probe(description, 0.15, 1.95) == "free"
    assert probe(description, 0.5, 2.24) == "unknown"


def test_written_map_is_read_as_the_same_grid(tmp_path):
    grid = lopsided_grid()
    again = read_map(write_map(grid, tmp_path)[0])
    assert np.array_equal(again.occupied, grid.occupied)
    assert again.bounds == grid.bounds
    assert again.resolution_m == grid.resolution_m


@pytest.mark.parametrize("header", ["P5 3 2 255\n", "P5\n# made by hand\n3 2\n255\n"])
def test_maps_from_other_programs_are_read(tmp_path, header):
    (tmp_path / "a.pgm").write_bytes(header.encode() + bytes([0, 254, 205, 254, 0, 254]))
    (tmp_path / "a.yaml").write_text(
        "image: a.pgm\nresolution: 0.5\norigin: [1, 2, 0]\nnegate: 0\n"
        "occupied_thresh: 0.65\nfree_thresh: 0.196\n"
    )
    grid = read_map(tmp_path / "a.yaml")
    assert grid.occupied.tolist() == [[False, True, False], [True, False, False]]


def test_map_with_negate_is_inverted(tmp_path):
    (tmp_path / "a.pgm").write_bytes(b"P2 2 1 100\n0 100\n")
    (tmp_path / "a.yaml").write_text("image: a.pgm\nresolution: 1\norigin: [0, 0, 0]\nnegate: 1\n")
    assert read_map(tmp_path / "a.yaml").occupied.tolist() == [[False, True]]


@pytest.mark.parametrize(
    ("field", "problem"),
    [
        ("resolution: .nan", "a.yaml:2: resolution is NaN; it must be finite"),
        ("resolution: .inf", "a.yaml:2: resolution is Infinity; it must be finite"),
        ("resolution: 0", "a.yaml:2: resolution is 0; it must be > 0"),
        ("resolution: 1000", "a.yaml:2: resolution is 1000; it must be <= 100"),
        ("resolution: 1\nnegate: .inf", "a.yaml:3: negate is Infinity"),
        ("resolution: 1\nmode: [[[[]]]]", "a.yaml:3: mode is"),
        ("resolution: " + "[" * 500, "a.yaml:2: is not YAML: is nested more than 50 levels"),
    ],
)
def test_invalid_field_of_a_map_file_is_rejected_with_its_line(tmp_path, field, problem):
    (tmp_path / "a.pgm").write_bytes(b"P5 1 1 255\n\x00")
    (tmp_path / "a.yaml").write_text(f"image: a.pgm\n{field}\norigin: [0, 0, 0]\n")
    with pytest.raises(SpecError) as caught:
        read_map(tmp_path / "a.yaml")
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"P5" + b" " * 100_000, "is not a PGM image"),
        (b"P5" + b"#\n" * 100_000 + b"x", "is not a PGM image"),
        (b"P5 0 0 255\n", "has 0 x 0 pixels"),
        (b"P5 1 1 70000\n\0\0", "70000"),
        (b"P5 100000 100000 255\n\0", "ends after 1 of 10000000000 pixels"),
        (b"P5 9999999999 1 255\n\0", "is not a PGM image"),
        (b"P2 2 1 255\n0 256\n", "value 256, but its header states the maximum 255"),
        (b"P2 2 1 255\n0 99999999999\n", "b'99999999999'"),
        (b"P2 2 1 255\n0 -1\n", "b'-1'"),
        (b"P5 1 1 100\n\xff", "value 255, but its header states the maximum 100"),
    ],
)
def test_invalid_map_image_is_rejected_quickly(tmp_path, content, problem):
    (tmp_path / "a.pgm").write_bytes(content)
    (tmp_path / "a.yaml").write_text("image: a.pgm\nresolution: 1\norigin: [0, 0, 0]\n")
    with pytest.raises(SpecError) as caught:
        read_map(tmp_path / "a.yaml")
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("image: none.pgm\nresolution: 1\norigin: [0, 0, 0]\n", '"none.pgm"; file not found'),
        ("image: a.pgm\nresolution: 1\n", "origin"),
        ("image: a.pgm\nresolution: 1\norigin: [0, 0, 0.5]\n", "0.5 rad"),
        ("image: a.pgm\nresolution: 1\norigin: [0, -1.0e+15, 0]\n", r"a.yaml:3: origin\[1\] is -1"),
        ("image: short.pgm\nresolution: 1\norigin: [0, 0, 0]\n", "ends after 1 of 4 pixels"),
        ("image: text.pgm\nresolution: 1\norigin: [0, 0, 0]\n", "not a PGM image"),
    ],
)
def test_damaged_map_is_rejected(tmp_path, text, problem):
    (tmp_path / "a.pgm").write_bytes(b"P5 1 1 255\n\x00")
    (tmp_path / "short.pgm").write_bytes(b"P5 2 2 255\n\x00")
    (tmp_path / "text.pgm").write_text(text)
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(SpecError, match=problem):
        read_map(tmp_path / "a.yaml")


@pytest.mark.parametrize(
    ("negate", "occupied"),
    [(0, [False, False, True, True, False]), (1, [False, True, True, False, False])],
)
def test_pixels_of_a_raw_map_are_values_of_cells(tmp_path, negate, occupied):
    """In map_server, negate applies to raw values too, and the value 255 is unknown."""
    (tmp_path / "a.pgm").write_bytes(b"P5 5 1 255\n" + bytes([0, 64, 100, 200, 255]))
    (tmp_path / "a.yaml").write_text(
        f"image: a.pgm\nresolution: 1\norigin: [0, 0, 0]\nmode: raw\nnegate: {negate}\n"
    )
    assert read_map(tmp_path / "a.yaml").occupied.tolist() == [occupied]
