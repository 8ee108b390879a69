"""Pictures of a scene from above, as PNG and SVG.

Equal scenes give identical files. This module needs matplotlib, which Scenic installs, and no
display.
"""

import io
import math
from typing import Any, Iterator, List, Mapping, Sequence, Tuple

import numpy as np
import shapely

from gz_testauto.extras.scenic.library import PlacedModel
from gz_testauto.extras.scenic.names import SceneName
from gz_testauto.sampling.naming import PREFIX

SIDE_INCHES = 6.0
LARGE_SIDE_INCHES = 12.0
FEW = 30  # largest number of objects in a small picture; from twice this number, it is large
DOTS_PER_INCH = 100
FONT_POINTS = 5
_GAP_POINTS = (3.0, 9.0, 16.0)  # distances from an object to its name, in the order of the attempts
_FIXED, _DRAWN, _MISSION = "#8c8c8c", "#d55e00", "#0072b2"
_POINT_M = 0.05  # size below which an object is drawn as a dot


def plan_view(
    objects: Sequence[Tuple[SceneName, Any]],
    models: Mapping[str, PlacedModel],
    workspace: Any,
    title: str,
) -> Tuple[bytes, bytes]:
    """Return the picture as PNG and as SVG. ``models`` are those of the descriptor by name."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    settings = {
        **matplotlib.rcParamsDefault,
        "svg.hashsalt": "gz_testauto",
        "svg.fonttype": "none",
        "path.simplify": False,
    }
    with matplotlib.rc_context(settings):
        side_inches = SIDE_INCHES * min(
            max(len(objects) / FEW, 1.0), LARGE_SIDE_INCHES / SIDE_INCHES
        )
        figure = Figure(figsize=(side_inches, side_inches), dpi=DOTS_PER_INCH)
        canvas = FigureCanvasAgg(figure)
        axes = figure.add_axes((0.09, 0.07, 0.88, 0.87))
        axes.set_aspect("equal", adjustable="datalim")
        axes.set_title(title, fontsize=9)
        axes.set_xlabel("x (m)", fontsize=8)
        axes.set_ylabel("y (m)", fontsize=8)
        axes.tick_params(labelsize=7)
        _draw_workspace(axes, workspace)
        labels: List[Tuple[str, float, float]] = []
        for name, obj in objects:
            model = models.get(obj.gz_model)
            is_mission = model is not None and model.spec.mission_only
            _draw_object(axes, name, obj, is_mission)
            if not getattr(obj, "is_wall", False):
                labels.append((short_name(name), float(obj.position.x), float(obj.position.y)))
        axes.autoscale_view()
        canvas.draw()  # drawing applies the aspect
        left_out = _write_labels(axes, labels)
        if left_out:
            text = f"{left_out} of {len(labels)} names omitted, which would overlap others"
            axes.set_xlabel(f"x (m)    ({text})", fontsize=8)
        pictures: List[bytes] = []
        for kind, metadata in (
            ("png", {"Software": None}),
            ("svg", {"Date": None, "Creator": None}),
        ):
            stream = io.BytesIO()
            figure.savefig(stream, format=kind, metadata=metadata)
            pictures.append(stream.getvalue())
    return pictures[0], pictures[1]


def _draw_workspace(axes: Any, workspace: Any) -> None:
    outline = getattr(workspace.region, "polygons", None)
    for part in shapely.get_parts(outline) if outline is not None else ():
        x, y = part.exterior.xy
        axes.plot(x, y, color="0.6", linewidth=0.8, linestyle="--")


def _draw_object(axes: Any, name: SceneName, obj: Any, is_mission: bool) -> None:
    x, y = float(obj.position.x), float(obj.position.y)
    color = _MISSION if is_mission else _DRAWN if name.drawn else _FIXED
    if obj.color is not None:
        color = tuple(float(value) for value in obj.color)  # type: ignore[assignment]
    outline = obj._boundingPolygon
    for part in shapely.get_parts(outline):
        if part.geom_type == "Polygon":
            x_values, y_values = part.exterior.xy
            axes.fill(x_values, y_values, facecolor=color, alpha=0.55, edgecolor="k", linewidth=0.6)
    if max(float(obj.width), float(obj.length)) < _POINT_M:
        axes.plot([x], [y], marker="o", markersize=4, color=color)
    if getattr(obj, "is_wall", False):
        return
    heading = float(obj.heading)
    reach = max(0.15, 0.35 * float(obj.length))
    tip = (x - reach * math.sin(heading), y + reach * math.cos(heading))
    arrow = {"arrowstyle": "-|>", "color": "k", "linewidth": 0.8, "mutation_scale": 7}
    axes.annotate("", xy=tip, xytext=(x, y), arrowprops=arrow)


def short_name(name: SceneName) -> str:
    """Return a name without the prefix of drawn objects, which the color shows."""
    return name.text[len(PREFIX) :] if name.drawn else name.text


def _write_labels(axes: Any, labels: Sequence[Tuple[str, float, float]]) -> int:
    """Write the names inside the frame and without overlaps; return the number of omitted names."""
    renderer = axes.figure.canvas.get_renderer()
    frame = axes.get_window_extent(renderer)
    dots = DOTS_PER_INCH / 72
    occupied = np.empty((0, 4))
    left_out = 0
    for text, x, y in labels:
        label = axes.annotate(
            text,
            (x, y),
            textcoords="offset points",
            xytext=(0, 0),
            fontsize=FONT_POINTS,
            color="0.15",
        )
        extent = label.get_window_extent(renderer)
        for across, up in _places(extent.width / dots, extent.height / dots):
            left, low = extent.x0 + across * dots, extent.y0 + up * dots
            box = np.array([left, low, left + extent.width, low + extent.height])
            inside = (
                frame.x0 <= box[0]
                and frame.y0 <= box[1]
                and box[2] <= frame.x1
                and box[3] <= frame.y1
            )
            free = (occupied[:, 2] < box[0]) | (box[2] < occupied[:, 0])
            free |= (occupied[:, 3] < box[1]) | (box[3] < occupied[:, 1])
            if inside and free.all():
                label.set_position((across, up))
                occupied = np.vstack([occupied, box])
                break
        else:
            label.remove()
            left_out += 1
    return left_out


def _places(width: float, height: float) -> Iterator[Tuple[float, float]]:
    """Yield the offsets (points) of the lower left corner of a name, the best first."""
    for gap in _GAP_POINTS:
        yield from ((gap, -gap - height / 2), (gap, gap - height / 2))
        yield from ((-gap - width, -gap - height / 2), (-gap - width, gap - height / 2))
        yield from ((-width / 2, -gap - height), (-width / 2, gap))
