"""Write the page of a reconstruction: recorded points over the reconstructed world."""

import base64
import html
import io
from typing import Iterable, List

import numpy as np

from gz_testauto.base.installation import importing
from gz_testauto.extras.field.evidence import BEHIND, CELL_M, MOVING, STATIC, WALL, in_map_cells
from gz_testauto.extras.field.matching import turned
from gz_testauto.extras.field.reconstruction import Reconstruction, part_outline
from gz_testauto.grid.occupancy import rectangles_of

MOST_POINTS = 6000
MARGIN_M = 1.0
COLORS = {STATIC: "#c2570c", WALL: "#4b5563", MOVING: "#7c3aed", BEHIND: "#0891b2"}
NAMES = {
    STATIC: "static, not in the map",
    WALL: "walls of the map",
    MOVING: "moving",
    BEHIND: "behind walls, omitted",
}

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>Reconstruction of {source}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 1.5rem auto; max-width: 75rem; }}
body {{ padding: 0 1rem; color: #1f2937; background: #fff; }}
svg {{ width: 100%; max-height: 85vh; border: 1px solid #d1d5db; background: #e5e7eb; }}
table {{ border-collapse: collapse; margin: 1rem 0; }}
th, td {{ text-align: left; padding: .2rem .8rem .2rem 0; vertical-align: top; }}
th, td {{ border-bottom: 1px solid #e5e7eb; }}
i {{ display: inline-block; width: .8em; height: .8em; margin-right: .3em; }}
span {{ margin-right: 1.2em; white-space: nowrap; }}
</style>
</head>
<body>
<h1>Reconstruction of {source}</h1>
<p>{legend}</p>
<svg viewBox="{box}" role="img"
 aria-label="Map with recorded points, obstacles, trajectory and tracks">
{image}
<g transform="scale(1 -1)" fill="none" stroke-linecap="round">
{shapes}
</g>
</svg>
<table>
{rows}
</table>
<h2>Assumptions</h2>
<ul>
{guesses}
</ul>
<h2>Obstacles</h2>
<table>
<tr><th>name</th><th>kind</th><th>parts</th><th>x, y (m)</th><th>RMS error (cm)</th></tr>
{obstacles}
</table>
</body>
</html>
"""


def page_html(rebuilt: Reconstruction, source: str) -> str:
    evidence = rebuilt.evidence
    around = np.concatenate(
        [evidence.points_m[evidence.kinds != BEHIND], rebuilt.poses[:, :2], [rebuilt.goal[:2]]]
    )
    low, high = around.min(axis=0) - MARGIN_M, around.max(axis=0) + MARGIN_M
    width_m = float((high - low).max())
    shapes = [
        _walls(rebuilt, low, high),
        *_points(rebuilt, width_m),
        *(
            f'<path d="{_path(part_outline(part).exterior.coords)}Z" fill="#f59e0b66" '
            f'stroke="#92400e" stroke-width="{width_m / 700:.3f}"><title>{seen.name}</title></path>'
            for seen in rebuilt.obstacles
            for part in seen.parts
        ),
        _line(rebuilt.estimates[:, :2], "#9ca3af", width_m / 600),
        _line(rebuilt.poses[:, :2], "#1d4ed8", width_m / 350),
        *(_line(track.points_m, "#db2777", width_m / 350) for track in rebuilt.tracks),
        _dot(rebuilt.start[:2], "#1d4ed8", width_m / 120),
        _dot(rebuilt.goal[:2], "#15803d", width_m / 120),
    ]
    return _PAGE.format(
        source=html.escape(source),
        legend=_legend(),
        box=f"{low[0]:.2f} {-high[1]:.2f} {high[0] - low[0]:.2f} {high[1] - low[1]:.2f}",
        image=_seen_image(rebuilt),
        shapes="\n".join(shapes),
        rows="\n".join(_rows(rebuilt)),
        guesses="\n".join(f"<li>{html.escape(guess)}</li>" for guess in rebuilt.guesses),
        obstacles="\n".join(
            f"<tr><td>{seen.name}</td><td>{seen.kind}</td><td>{len(seen.parts)}</td>"
            f"<td>{seen.parts[0].x_m:.2f}, {seen.parts[0].y_m:.2f}</td>"
            f"<td>{100 * seen.error_m:.1f}</td></tr>"
            for seen in rebuilt.obstacles
        ),
    )


def _rows(rebuilt: Reconstruction) -> Iterable[str]:
    window, times_s = rebuilt.window, rebuilt.scans.times_s
    map_m2 = rebuilt.map_file.occupied.size * rebuilt.map_file.resolution_m**2
    kinds = np.bincount(rebuilt.evidence.kinds, minlength=len(NAMES))
    values = {
        "window": f"{window.from_s:.1f} to {window.to_s:.1f} s, {window.reason}",
        "scans": f"{len(times_s)} with {len(rebuilt.scans.angles_rad)} rays",
        "static returns repeated within 5 cm": f"{100 * rebuilt.explained_share:.1f} %",
        "median error of matched points": f"{100 * rebuilt.match.residual_m:.2f} cm",
        "returns": ", ".join(f"{name}: {kinds[kind]}" for kind, name in NAMES.items()),
        "seen area": f"{rebuilt.seen_m2:.0f} m² of the map of {map_m2:.0f} m². Surfaces that "
        "the robot did not see are missing",
        "moving objects": str(len(rebuilt.tracks)),
        "noise of ranges": f"{100 * rebuilt.noise_m:.1f} cm",
    }
    for name, value in values.items():
        yield f"<tr><th>{name}</th><td>{html.escape(value)}</td></tr>"


def _legend() -> str:
    entries = {
        **{NAMES[kind]: color for kind, color in COLORS.items()},
        "obstacles of the world": "#f59e0b",
        "refined trajectory, start": "#1d4ed8",
        "poses of the bag": "#9ca3af",
        "tracks": "#db2777",
        "goal": "#15803d",
        "seen area": "#ffffff; border: 1px solid #9ca3af",
    }
    return "".join(
        f'<span><i style="background: {color}"></i>{name}</span>' for name, color in entries.items()
    )


def _points(rebuilt: Reconstruction, width_m: float) -> Iterable[str]:
    evidence = rebuilt.evidence
    for kind, color in COLORS.items():
        points = evidence.points_m[evidence.kinds == kind]
        points = points[:: max(len(points) // MOST_POINTS, 1)]
        dots = "".join(f"M{x:.2f} {y:.2f}h0" for x, y in points)
        yield f'<path d="{dots}" stroke="{color}" stroke-width="{width_m / 500:.3f}"/>'


def _walls(rebuilt: Reconstruction, low: np.ndarray, high: np.ndarray) -> str:
    """Return the walls of the map in the drawn area, as an SVG path."""
    map_file = rebuilt.map_file
    corners = np.array([low, high, [low[0], high[1]], [high[0], low[1]]])
    cells = in_map_cells(corners, map_file)
    rows, columns = map_file.occupied.shape
    first = np.clip(np.floor(cells.min(axis=0)).astype(int), 0, [columns, rows])
    last = np.clip(np.ceil(cells.max(axis=0)).astype(int), 0, [columns, rows])
    paths: List[str] = []
    for cell in rectangles_of(map_file.occupied[first[1] : last[1], first[0] : last[0]]):
        x, y = cell.column + first[0], cell.row + first[1]
        rectangle = np.array(
            [[x, y], [x + cell.columns, y], [x + cell.columns, y + cell.rows], [x, y + cell.rows]]
        )
        placed = turned(np.array(map_file.origin), rectangle * map_file.resolution_m)
        paths.append(_path(placed) + "Z")
    return f'<path d="{"".join(paths)}" fill="#6b7280"/>'


def _seen_image(rebuilt: Reconstruction) -> str:
    """Return the seen area as an SVG image of at most 1,000 pixels per side."""
    with importing("the page of a reconstruction needs Pillow", "field"):
        from PIL import Image
    evidence = rebuilt.evidence
    seen = (evidence.hits + evidence.passes) > 0
    rows, columns = seen.shape
    step = max(-(-max(rows, columns) // 1000), 1)
    pixels = np.where(seen[::-step, ::step], 255, 0).astype(np.uint8)
    image = Image.merge("LA", [Image.fromarray(np.full_like(pixels, 255)), Image.fromarray(pixels)])
    stream = io.BytesIO()
    image.save(stream, "PNG")
    data = base64.b64encode(stream.getvalue()).decode("ascii")
    x_m, y_m = evidence.corner_m
    return (
        f'<image x="{x_m:.3f}" y="{-(y_m + rows * CELL_M):.3f}" width="{columns * CELL_M:.3f}" '
        f'height="{rows * CELL_M:.3f}" preserveAspectRatio="none" '
        f'href="data:image/png;base64,{data}"/>'
    )


def _path(points: Iterable[Iterable[float]]) -> str:
    return "M" + "L".join(f"{x:.3f} {y:.3f}" for x, y in points)


def _line(points: np.ndarray, color: str, width_m: float) -> str:
    return f'<path d="{_path(points)}" stroke="{color}" stroke-width="{width_m:.3f}"/>'


def _dot(point: Iterable[float], color: str, radius_m: float) -> str:
    x, y = point
    return f'<circle cx="{x:.3f}" cy="{y:.3f}" r="{radius_m:.3f}" fill="{color}"/>'
