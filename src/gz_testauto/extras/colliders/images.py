"""Depth and segmentation images of colliders by ray casting, without a display and repeatable to
the bit."""

from typing import NamedTuple

import numpy as np

from gz_testauto.base.errors import SpecError
from gz_testauto.extras.colliders.bodies import Bodies
from gz_testauto.extras.colliders.views import Frustum


class DepthImage(NamedTuple):
    """An image of the colliders. Rows are from the top, columns from the left.

    ``depth_m`` (height, width) is along the camera's x axis, inf if nothing is in range; ``labels``
    (height, width) are indices in ``Bodies.names``, -1 for nothing.
    """

    depth_m: np.ndarray
    labels: np.ndarray


def depth_image(bodies: Bodies, view: Frustum, width: int, height: int) -> DepthImage:
    """Return the image with one ray through the center of each pixel. The view's aspect should be
    that of the image.

    Surfaces nearer than ``view.near_m`` hide nothing, and a camera in a solid sees its surface from
    inside. Raises ``SpecError`` for an image without pixels.
    """
    if width < 1 or height < 1:
        raise SpecError(f"an image of {width} x {height} pixels; both must be at least 1")
    u, v = (np.arange(width) + 0.5) / width, (np.arange(height) + 0.5) / height
    image = np.stack(np.meshgrid(u, v), axis=-1).reshape(-1, 2)
    directions = view.rays(image)
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
    seen = depth <= view.far_m
    shape = (height, width)
    return DepthImage(
        np.where(seen, depth, np.inf).reshape(shape), np.where(seen, labels, -1).reshape(shape)
    )
