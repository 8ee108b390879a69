"""Draws a scene from above, as PNG and SVG.

Owns the picture: true outlines, names, and an arrow to each object's front. The same scene gives
the same bytes. Needs matplotlib, which Scenic brings; draws without a display.
"""

import io
import math
from typing import Any, Dict, List, Mapping, Sequence, Tuple

import shapely

from gz_testauto.scenic.library import PlacedModel
from gz_testauto.scenic.names import SceneName

SIDE_INCHES = 6.0
DOTS_PER_INCH = 100
_FIXED, _DRAWN, _MISSION = "#8c8c8c", "#d55e00", "#0072b2"
_POINT_M = 0.05
"""What is smaller is drawn as a dot."""


def plan_view(
    objects: Sequence[Tuple[SceneName, Any]],
    models: Mapping[str, PlacedModel],
    workspace: Any,
    title: str,
) -> Tuple[bytes, bytes]:
    """The PNG and the SVG of a scene."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    settings: Dict[Any, Any] = {
        "svg.hashsalt": "gz_testauto",
        "svg.fonttype": "none",
        "path.simplify": False,
    }
    settings = {**dict(matplotlib.rcParamsDefault), **settings}
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(SIDE_INCHES, SIDE_INCHES), dpi=DOTS_PER_INCH)
        FigureCanvasAgg(figure)
        axes = figure.add_axes((0.09, 0.07, 0.88, 0.87))
        axes.set_aspect("equal", adjustable="datalim")
        axes.set_title(title, fontsize=9)
        axes.set_xlabel("x (m)", fontsize=8)
        axes.set_ylabel("y (m)", fontsize=8)
        axes.tick_params(labelsize=7)
        _draw_workspace(axes, workspace)
        for name, obj in objects:
            model = models.get(obj.gz_model) if obj.gz_model is not None else None
            _draw(axes, name, obj, model is not None and model.spec.mission_only)
        axes.autoscale_view()
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


def _draw(axes: Any, name: SceneName, obj: Any, is_mission: bool) -> None:
    x, y = float(obj.position.x), float(obj.position.y)
    color = _MISSION if is_mission else _DRAWN if name.drawn else _FIXED
    if obj.color is not None:
        color = tuple(float(value) for value in obj.color)  # type: ignore[assignment]
    outline = obj._boundingPolygon
    for part in shapely.get_parts(outline):
        if part.geom_type == "Polygon":
            along, up = part.exterior.xy
            axes.fill(along, up, facecolor=color, alpha=0.55, edgecolor="k", linewidth=0.6)
    if max(float(obj.width), float(obj.length)) < _POINT_M:
        axes.plot([x], [y], marker="o", markersize=4, color=color)
    if getattr(obj, "is_wall", False):
        return
    heading = float(obj.heading)
    reach = max(0.15, 0.35 * float(obj.length))
    tip = (x - reach * math.sin(heading), y + reach * math.cos(heading))
    arrow = {"arrowstyle": "-|>", "color": "k", "linewidth": 0.8, "mutation_scale": 7}
    axes.annotate("", xy=tip, xytext=(x, y), arrowprops=arrow)
    axes.annotate(
        name.text, (x, y), textcoords="offset points", xytext=(3, -8), fontsize=5, color="0.15"
    )
