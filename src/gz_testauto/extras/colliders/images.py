"""Depth, segmentation and color images by ray casting, without a display or a renderer.

The same inputs result in identical images, bit by bit. Ambient light and all lights of the world
light the visuals according to Lambert's law, without shadows, highlights and textures.
"""

from typing import Dict, List, NamedTuple, Tuple

import numpy as np

from gz_testauto.base.errors import SdfError, SpecError
from gz_testauto.base.observation import Snapshot
from gz_testauto.base.pose import Pose
from gz_testauto.extras.colliders.bodies import Bodies, Collider
from gz_testauto.extras.colliders.views import Frustum, HalfSpace
from gz_testauto.sdf.appearance import BLACK, Light
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.scene import SceneModel, placed_model, read_scene
from gz_testauto.sdf.shapes import Plane
from gz_testauto.sdf.visuals import walk_visuals
from gz_testauto.simulators.description import Description
from gz_testauto.simulators.interface import Scene

AMBIENT = 0.4  # brightness of the ambient light from 0 to 1: Gazebo's default
BACKGROUND = (0.7, 0.7, 0.7)
BESIDE = 1.0 / 16.0
"""Offset (pixels) of two additional rays per pixel, from which the slope of the surface is
computed."""


class DepthImage(NamedTuple):
    """A depth and segmentation image, with the top row first.

    ``depth_m`` (height, width) is along the camera's x axis, or inf without a collider in range.
    ``labels`` (height, width) are indices in ``Bodies.names``, or -1.
    """

    depth_m: np.ndarray
    labels: np.ndarray


def depth_image(bodies: Bodies, view: Frustum, width: int, height: int) -> DepthImage:
    """Return a depth image with one ray through the center of each pixel.

    The aspect of ``view`` should be that of the image. Surfaces nearer than ``view.near_m`` do not
    hide other surfaces. Raises ``SpecError`` for an image without pixels.
    """
    directions = view.rays(_pixel_centers(width, height))
    # A ray has the length s for each meter of depth: the distance d is at the depth d / s.
    stretch = np.linalg.norm(directions, axis=1)
    eye = np.asarray(view.pose.position)
    away_m, labels = bodies.raycast(eye, directions)
    depth = away_m / stretch
    (hidden,) = np.nonzero(depth < view.near_m)
    if len(hidden):
        starts = eye + view.near_m * directions[hidden]
        away_m, labels[hidden] = bodies.raycast(starts, directions[hidden])
        depth[hidden] = view.near_m + away_m / stretch[hidden]
    in_range = depth <= view.far_m
    shape = (height, width)
    return DepthImage(
        np.where(in_range, depth, np.inf).reshape(shape),
        np.where(in_range, labels, -1).reshape(shape),
    )


def _pixel_centers(width: int, height: int) -> np.ndarray:
    """Return the image positions (u, v) of all pixels, by rows, shape (n, 2)."""
    if width < 1 or height < 1:
        raise SpecError(
            f"the image has {width} x {height} pixels; width and height must be at least 1"
        )
    u, v = (np.arange(width) + 0.5) / width, (np.arange(height) + 0.5) / height
    return np.stack(np.meshgrid(u, v), axis=-1).reshape(-1, 2)


class Painter:
    """A renderer of color images; ``notes`` lists visuals that are not drawn, with reasons.

    Raises ``SdfError`` for a world that cannot be read.
    """

    def __init__(self, scene: Scene) -> None:
        notes: List[str] = []
        colliders: List[Collider] = []
        self._planes: List[Tuple[str, str, Pose, Plane]] = []
        models = list(read_scene(scene.world).models.values())
        models += [placed_model(added.sdf, added.name, added.pose) for added in scene.models]
        models += [
            placed_model(placed.robot.sdf, placed.robot.name, placed.start.to_pose())
            for placed in scene.robots
        ]
        for model in models:
            self._add_visuals(model, colliders, notes)
        self._colliders = tuple(colliders)
        self.notes = tuple(notes)
        self._bodies_by_names: Dict[Tuple[str, ...], Bodies] = {}

    def image(
        self, snapshot: Snapshot, description: Description, view: Frustum, width: int, height: int
    ) -> np.ndarray:
        """Return a color image of shape (height, width, 3), uint8, with the top row first.

        ``description`` is the result of ``Simulation.describe``. Raises ``SpecError`` for an image
        without pixels.
        """
        middle = _pixel_centers(width, height)
        bodies = self._visible_bodies(snapshot, description)
        points, names = self._hits(bodies, snapshot, description, view, middle)
        is_hit = np.array([name is not None for name in names])
        colors = np.tile(np.asarray(BACKGROUND), (len(middle), 1))
        if is_hit.any():
            neighbor_hits = [
                self._hits(bodies, snapshot, description, view, middle + step)
                for step in ((BESIDE / width, 0.0), (0.0, BESIDE / height))
            ]
            normals = _normals(points, names, neighbor_hits, np.asarray(view.pose.position))
            colors[is_hit] = _illuminated_colors(
                points[is_hit], normals[is_hit], [n for n in names if n], description
            )
        return np.asarray(np.round(255 * colors.clip(0.0, 1.0)), dtype=np.uint8).reshape(
            height, width, 3
        )

    def _add_visuals(self, model: SceneModel, colliders: List[Collider], notes: List[str]) -> None:
        library = ModelLibrary()
        for visual in walk_visuals(model):
            name, attached_to, offset = visual.scoped_name, model.name, visual.pose
            if visual.link not in model.static_links:
                attached_to = f"{model.name}::{visual.link}"
                offset = model.links[visual.link].inverse() * visual.pose
            try:
                shape = visual.geometry(library)
                if isinstance(shape, Plane):
                    self._planes.append((name, attached_to, offset, shape))
                elif shape is not None:
                    Bodies([Collider(name, shape)])  # raises for an unusable shape
                    colliders.append(Collider(name, shape, attached_to, offset))
            except (SdfError, SpecError) as error:
                notes.append(f"{name} is not drawn: {error}")

    def _visible_bodies(self, snapshot: Snapshot, description: Description) -> Bodies:
        visible = tuple(
            collider
            for collider in self._colliders
            if (collider.on in snapshot.models or collider.on in snapshot.links)
            and _is_visible(collider.name, description)
        )
        key = tuple(collider.name for collider in visible)
        if key not in self._bodies_by_names:
            self._bodies_by_names = {key: Bodies(visible)}
        bodies = self._bodies_by_names[key]
        bodies.place(snapshot)
        return bodies

    def _hits(
        self,
        bodies: Bodies,
        snapshot: Snapshot,
        description: Description,
        view: Frustum,
        at: np.ndarray,
    ) -> Tuple[np.ndarray, List[object]]:
        """Return the points (n, 3) that rays through ``at`` (n, 2) hit, and the n visuals there,
        None without a hit."""
        eye, towards = np.asarray(view.pose.position), view.rays(at)
        ahead = towards @ view.pose.rotation[:, 0]
        away_m, labels = bodies.raycast(eye, towards)
        length = np.linalg.norm(towards, axis=1)
        away_m = away_m / length
        names = [bodies.names[label] if label >= 0 else None for label in labels.tolist()]
        for name, on, offset, plane in self._planes:
            state = snapshot.models.get(on) or snapshot.links.get(on)
            if state is None or not _is_visible(name, description):
                continue
            pose = state.pose * offset
            normal = pose.rotation @ np.asarray(plane.normal)
            plane_m = HalfSpace.through(pose.position, tuple(normal.tolist())).raycast(eye, towards)
            plane_m = plane_m / length
            for ray in np.nonzero(plane_m < away_m)[0].tolist():
                away_m[ray], names[ray] = plane_m[ray], name
        depth = away_m * ahead
        for ray in np.nonzero(~((depth >= view.near_m) & (depth <= view.far_m)))[0].tolist():
            names[ray] = None
        points = eye + np.where(np.isfinite(away_m), away_m, 0.0)[:, None] * towards
        return points, list(names)


def _is_visible(name: str, description: Description) -> bool:
    visual = description.visuals.get(name)
    return visual is not None and visual.visible and visual.transparency < 1.0


def _normals(
    points: np.ndarray,
    names: List[object],
    neighbor_hits: List[Tuple[np.ndarray, List[object]]],
    eye: np.ndarray,
) -> np.ndarray:
    """Return the surface normals (n, 3) at ``points``, on the side of the camera at ``eye``.

    They are computed from ``neighbor_hits``, the hits of two neighboring rays of each ray.
    """
    (right, right_names), (under, under_names) = neighbor_hits
    towards = eye - points
    normals = np.cross(under - points, right - points)
    length = np.linalg.norm(normals, axis=1)
    # at an edge, where a neighboring ray hits another visual, the normal is toward the camera
    is_same_visual = np.array([a == b == c for a, b, c in zip(names, right_names, under_names)]) & (
        length > 0
    )
    normals = np.where(
        is_same_visual[:, None], normals / np.where(length > 0, length, 1.0)[:, None], towards
    )
    normals /= np.maximum(np.linalg.norm(normals, axis=1), 1e-12)[:, None]
    return np.where((np.sum(normals * towards, axis=1) < 0)[:, None], -normals, normals)


def _illuminated_colors(
    points: np.ndarray, normals: np.ndarray, names: List[object], description: Description
) -> np.ndarray:
    """Return the colors (n, 3) of surface points (n, 3) in the light of the scene."""
    hit_visuals = [description.visuals[str(name)] for name in names]
    ambient, diffuse, emissive = (
        np.array([getattr(visual, field)[:3] for visual in hit_visuals])
        for field in ("ambient", "diffuse", "emissive")
    )
    colors = emissive + AMBIENT * ambient
    for light in description.lights.values():
        strength = _strength(light, points, normals)
        colors = colors + strength[:, None] * diffuse * np.asarray(light.diffuse[:3])
    return colors


def _strength(light: Light, points: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Return the share (n,) of a light's color that is reflected at points (n, 3)."""
    if light.diffuse == BLACK:
        return np.zeros(len(points))
    direction = light.pose.rotation @ np.asarray(light.direction)
    direction = direction / max(float(np.linalg.norm(direction)), 1e-12)
    if light.kind == "directional":
        return np.maximum(-normals @ direction, 0.0)
    away = points - np.asarray(light.pose.position)
    away_m = np.maximum(np.linalg.norm(away, axis=1), 1e-9)
    cosine = np.maximum(-np.sum(normals * away, axis=1) / away_m, 0.0)
    fading = light.constant + light.linear * away_m + light.quadratic * away_m**2
    strength = np.where(away_m <= light.range_m, cosine / np.maximum(fading, 1e-9), 0.0)
    return np.minimum(strength, 1.0)
