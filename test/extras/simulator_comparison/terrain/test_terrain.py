"""Terrains: the same grid for all simulators, with the specified heights and spectrum."""

import numpy as np
import pytest
from PIL import Image
from pydantic import TypeAdapter, ValidationError
from scipy.signal import welch

from gz_testauto.base.errors import SpecError
from gz_testauto.extras.simulator_comparison.terrain import TerrainSpec, make_terrain, write_world
from gz_testauto.extras.simulator_comparison.terrain.kinds import CLASS_M3
from gz_testauto.sdf.dynamics import read_gravity, read_physics
from gz_testauto.sdf.scene import read_scene

READER = TypeAdapter(TerrainSpec)
ROUGH = ("step", "bumps", "gravel", "iso8608", "fbm")


def terrain_of(kind, seed=0, **more):
    spec = READER.validate_python({"name": kind, "kind": kind, "pixels": 257, **more})
    return make_terrain(spec, seed)


def summarize_probe(world):
    (shape,) = read_scene(world).models["terrain"].collisions
    return shape


@pytest.mark.slow
@pytest.mark.parametrize("kind", ROUGH)
def test_terrain_heights_have_256_levels(kind):
    levels = terrain_of(kind).levels
    assert (levels.min(), levels.max()) == (0, 255)
    terrain = terrain_of(kind)
    assert np.allclose(
        terrain.lowest_m + levels * (terrain.relief_m / 255), terrain.heights_m, atol=1e-12
    )


@pytest.mark.parametrize("kind", ROUGH)
def test_a_robot_starts_on_flat_ground_at_height_0(kind):
    terrain = terrain_of(kind, clear_m=0.8)
    x, y = np.meshgrid(np.linspace(-0.75, 0.75, 31), np.linspace(-0.75, 0.75, 31))
    assert np.all(terrain.height_m(x, y) == 0.0)
    assert terrain.relief_m > 0.01


@pytest.mark.slow
@pytest.mark.parametrize("kind", ROUGH)
def test_loaded_world_has_the_heights_of_the_terrain(kind, tmp_path):
    terrain = terrain_of(kind)
    ground = summarize_probe(write_world(terrain, tmp_path / "new"))
    assert ground.geometry.heights + ground.geometry.position[2] == pytest.approx(
        terrain.heights_m, abs=1e-12
    )
    assert ground.geometry.size[:2] == (terrain.size_m, terrain.size_m)


def test_flat_terrain_is_a_plane_in_the_world(tmp_path):
    terrain = terrain_of("flat")
    world = write_world(terrain, tmp_path)
    assert type(summarize_probe(world).geometry).__name__ == "Plane"
    assert terrain.relief_m == 0.0 and terrain.height_m(1.0, 2.0) == 0.0
    assert not list(tmp_path.glob("*.png"))


def test_world_has_the_specified_step_and_gravity(tmp_path):
    document = read_scene(write_world(terrain_of("step"), tmp_path, step_s=0.0005)).document
    assert read_physics(document, document.world, "max_step_size") == 0.0005
    assert read_gravity(document, document.world) == pytest.approx((0.0, 0.0, -9.80665))


def test_first_row_is_at_the_greatest_y_and_first_column_at_the_least_x():
    terrain = terrain_of("gravel")
    assert terrain.height_m(terrain.x_m[3], terrain.y_m[20]) == terrain.heights_m[20, 3]
    assert terrain.y_m[0] == terrain.size_m / 2 and terrain.x_m[0] == -terrain.size_m / 2


def test_heights_are_interpolated_bilinearly_and_nan_beyond_the_edge():
    terrain = terrain_of("gravel")
    corners = terrain.heights_m[100:102, 50:52]
    x = terrain.x_m[50] + terrain.pitch_m / 4
    y = terrain.y_m[100] - terrain.pitch_m / 2
    assert terrain.height_m(x, y) == pytest.approx(corners.mean(axis=0) @ [0.75, 0.25], abs=1e-12)
    assert np.isnan(terrain.height_m(6.5, 0.0))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ("bumps", "gravel", "iso8608", "fbm"))
def test_terrain_depends_only_on_the_seed(kind):
    first, again, other = terrain_of(kind, 0), terrain_of(kind, 0), terrain_of(kind, 1)
    assert np.array_equal(first.heights_m, again.heights_m)
    assert not np.array_equal(first.heights_m, other.heights_m)


def test_step_has_the_specified_height_and_rises_within_one_cell():
    terrain = terrain_of("step", height_m=0.1, position_m=2.0, length_m=1.0)
    assert terrain.relief_m == 0.1
    cell = terrain.pitch_m
    at_m = [2.0 - cell, 2.0 - cell / 2, 2.0, 3.0, 3.0 + cell]
    assert terrain.height_m(np.array(at_m), np.zeros(5)) == pytest.approx([0.0, 0.05, 0.1, 0.1, 0])


def test_high_bumps_are_on_top_of_low_bumps():
    """Heights are 38 and 76 mm, which become 38.1 and 76 mm in 8 bits."""
    terrain = terrain_of("bumps", pixels=513)
    heights = np.unique(terrain.heights_m)
    assert heights == pytest.approx([0.0, 0.038, 0.076], abs=0.0002)
    low, high = (np.mean(terrain.heights_m > height) for height in (0.01, 0.05))
    assert 0.1 < low < 0.3 and 0.02 < high < 0.5 * low
    assert terrain.friction == 0.95


def test_gravel_has_stones_up_to_97_mm_and_few_gaps():
    terrain = terrain_of("gravel", pixels=513)
    assert terrain.relief_m == pytest.approx(0.097)
    away = abs(terrain.y_m) > 1.2
    gaps = np.mean(terrain.heights_m[away] == terrain.lowest_m)
    assert 0.02 < gaps < 0.3
    assert terrain.friction == 0.55


def roughness_m3(terrain, hurst=0.5):
    """Return the roughness G(n0) from the one-sided spectra of rows and columns outside the flat
    area."""
    away = abs(terrain.y_m) > 1.5
    lines = np.concatenate([terrain.heights_m[away], terrain.heights_m.T[away]])
    frequency, density = welch(
        lines, fs=1 / terrain.pitch_m, nperseg=lines.shape[1], detrend="linear"
    )
    band = (frequency > 0.5) & (frequency < 3.0)
    flattened = density.mean(axis=0)[band] * (frequency[band] / 0.1) ** (2 * hurst + 1)
    return flattened.mean(), np.polyfit(np.log(frequency[band]), np.log(flattened), 1)[0]


@pytest.mark.slow
@pytest.mark.parametrize("road_class", "ACE")
def test_road_profile_has_the_spectrum_of_its_iso_8608_class(road_class):
    found = [
        roughness_m3(terrain_of("iso8608", seed, pixels=513, road_class=road_class))
        for seed in range(4)
    ]
    level, slope = np.mean(found, axis=0)
    assert level == pytest.approx(CLASS_M3[road_class], rel=0.1)
    assert slope == pytest.approx(0.0, abs=0.15)


@pytest.mark.slow
@pytest.mark.parametrize("hurst", (0.3, 0.8))
def test_fractional_brownian_ground_has_the_specified_spectral_exponent(hurst):
    found = [
        roughness_m3(terrain_of("fbm", seed, pixels=513, hurst=hurst, roughness_m3=1024e-6), hurst)
        for seed in range(4)
    ]
    level, slope = np.mean(found, axis=0)
    assert level == pytest.approx(1024e-6, rel=0.12)
    assert slope == pytest.approx(0.0, abs=0.15)


@pytest.mark.parametrize("depth", (8, 16))
def test_image_of_any_size_and_depth_is_read(depth, tmp_path):
    gray = np.linspace(0, 2**depth - 1, 40 * 30).reshape(30, 40)
    path = tmp_path / "mine.png"
    Image.fromarray(gray.astype(np.uint8 if depth == 8 else np.uint16)).save(path)
    terrain = terrain_of("image", image=str(path), relief_m=0.5, clear_m=0.0, blend_m=0.0)
    assert terrain.relief_m == pytest.approx(0.5)
    assert terrain.heights_m[0, 0] == terrain.lowest_m  # the top of it is dark
    expected = np.linspace(-0.25, 0.25, 9)[1:-1]
    at_y = np.linspace(6.4, -6.4, 9)[1:-1]
    assert terrain.height_m(np.zeros(7), at_y) == pytest.approx(expected, abs=0.01)


def test_invalid_images_and_images_without_relief_are_rejected(tmp_path):
    text, gray = tmp_path / "notes.png", tmp_path / "gray.png"
    text.write_text("no image")
    Image.fromarray(np.full((5, 5), 7, np.uint8)).save(gray)
    for path, said in ((text, "cannot be read as an image"), (gray, "uniform brightness")):
        with pytest.raises(SpecError, match=said):
            terrain_of("image", image=str(path), relief_m=0.5)
    with pytest.raises(SpecError, match="flat everywhere: clear_m is 10"):
        terrain_of("iso8608", clear_m=10.0)


@pytest.mark.parametrize(
    "wrong, said",
    (
        ({"kind": "step", "pixels": 500}, "2^n + 1"),
        ({"kind": "step", "position_m": 1.0}, "must be above clear_m"),
        ({"kind": "gravel", "stone_m": [0.2, 0.1]}, "smaller diameter must be first"),
        ({"kind": "gravel", "stone_m": [0.01, 0.1]}, "two grid cells"),
        ({"kind": "sand"}, "'flat', 'step', 'bumps', 'gravel', 'iso8608', 'fbm', 'image'"),
        ({"kind": "flat", "height_m": 1.0}, "Extra inputs"),
    ),
)
def test_impossible_terrain_is_rejected_with_the_reason(wrong, said):
    with pytest.raises(ValidationError) as caught:
        READER.validate_python({"name": "wrong", **wrong})
    assert said in str(caught.value)
