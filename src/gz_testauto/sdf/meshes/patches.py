"""Decompose a surface into nearly flat, convex patches with compiled code.

Neighboring triangles and patches are merged as long as their common convex hull is near the
surface, those with the smallest error first. The surface need not be closed. Importing this module
loads numba.
"""

import heapq
import math
from typing import Tuple

import numpy as np

from gz_testauto.base.compiled import compiled
from gz_testauto.sdf.meshes.solids import numbered_corners

# Error levels in whose order patches are merged. Within a level, the smallest patches are merged
# first.
LEVELS_M = (1e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2)

MIN_COSINE = 0.7  # of the angle between a patch and the merged patch that contains it

_NONE = -1


def convex_patches(
    triangles: np.ndarray, tolerance_m: float, limit: int
) -> Tuple[np.ndarray, np.ndarray]:
    """Return the index (n,) of the patch of each triangle (n, 3, 3), and the error (p,) of each
    patch: its largest distance (m) from its convex hull.

    Patches are merged up to an error of ``tolerance_m``, and further, in the order of ``LEVELS_M``,
    while more than ``limit`` patches remain.
    """
    faces = numbered_corners(triangles)
    corners = np.empty((int(faces.max()) + 1, 3))
    corners[faces.ravel()] = triangles.reshape(-1, 3)
    edges, edge_of_side = np.unique(
        np.sort(np.stack([faces, np.roll(faces, -1, axis=1)], axis=2).reshape(-1, 2), axis=1),
        axis=0,
        return_inverse=True,
    )
    order = np.argsort(edge_of_side.ravel(), kind="stable")
    count = np.bincount(edge_of_side.ravel(), minlength=len(edges))
    starts = np.concatenate([[0], np.cumsum(count)])
    neighbors = _neighbors(order // 3, starts)
    free_levels = sum(level <= tolerance_m for level in LEVELS_M)
    owner, error = _merge_patches(corners, faces, neighbors, np.array(LEVELS_M), free_levels, limit)
    _, label = np.unique(owner, return_inverse=True)
    root_triangles = np.zeros(label.max() + 1, dtype=np.int64)
    root_triangles[label] = owner
    return label, error[root_triangles]


@compiled
def _neighbors(faces_of_edges, starts):  # type: ignore[no-untyped-def]
    """Return the pairs (k, 2) of triangles that have a common edge. The triangles at edge e are
    ``faces_of_edges[starts[e] : starts[e + 1]]``."""
    pairs = np.empty((len(faces_of_edges), 2), np.int64)
    size = 0
    for edge in range(len(starts) - 1):
        for place in range(starts[edge] + 1, starts[edge + 1]):
            first, second = faces_of_edges[place - 1], faces_of_edges[place]
            if first != second:
                pairs[size, 0], pairs[size, 1] = first, second
                size += 1
    return pairs[:size]


@compiled
def _dot(a, b):  # type: ignore[no-untyped-def]
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@compiled
def _cross(a, b):  # type: ignore[no-untyped-def]
    return np.array(
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    )


@compiled
def _ring(flat, order):  # type: ignore[no-untyped-def]
    """Return the corners of the convex hull of the points ``flat`` (n, 2), as indices,
    counter-clockwise. ``order`` contains the indices of the points, sorted by coordinates."""
    n = len(order)
    hull = np.empty(2 * n + 2, np.int64)
    size = 0
    # Andrew's monotone chain: the lower half of the hull, then the upper half.
    for turn in range(2):
        base = size
        for step in range(n):
            row = order[step] if turn == 0 else order[n - 1 - step]
            while size - base >= 2:
                a, b = hull[size - 2], hull[size - 1]
                across = (flat[b, 0] - flat[a, 0]) * (flat[row, 1] - flat[a, 1]) - (
                    flat[b, 1] - flat[a, 1]
                ) * (flat[row, 0] - flat[a, 0])
                length = math.hypot(flat[row, 0] - flat[a, 0], flat[row, 1] - flat[a, 1])
                if across > 1e-7 * length:
                    break
                size -= 1
            hull[size] = row
            size += 1
        size -= 1  # the last point is the first of the next half
    return hull[:size]


@compiled
def _fit_hull(points, normal, areas):  # type: ignore[no-untyped-def]
    """Return the thickness (m), the filled width (m), the corners (indices in ``points``) and the
    area of the common convex hull of two patches.

    ``points`` (n, 3) are the corners of both patches, and ``normal`` is the normal of the merged
    patch. ``areas`` is the sum of the areas of both hulls, projected along the normal. The filled
    width is a bound on the parts of the common hull outside both hulls. The thickness is infinite
    if the patches overlap in this projection.
    """
    # u and v are perpendicular to the normal. u is the projection of the axis that is farthest from
    # the normal, so that its length is not near zero.
    n = len(points)
    farthest_axis = np.argmin(np.abs(normal))
    u = -normal[farthest_axis] * normal
    u[farthest_axis] = 1.0 - normal[farthest_axis] * normal[farthest_axis]
    u /= math.sqrt(_dot(u, u))
    v = _cross(normal, u)
    flat = np.empty((n, 2))
    low, high = 0, 0
    height = np.empty(n)
    for row in range(n):
        flat[row, 0] = _dot(points[row], u)
        flat[row, 1] = _dot(points[row], v)
        height[row] = _dot(points[row], normal)
        low = row if height[row] < height[low] else low
        high = row if height[row] > height[high] else high
    # Insertion sort by both coordinates, as _ring() requires.
    order = np.empty(n, np.int64)
    for row in range(n):
        place = row
        while place > 0 and (
            flat[order[place - 1], 0] > flat[row, 0]
            or (
                flat[order[place - 1], 0] == flat[row, 0]
                and flat[order[place - 1], 1] > flat[row, 1]
            )
        ):
            order[place] = order[place - 1]
            place -= 1
        order[place] = row
    ring = _ring(flat, order)
    area = 0.0
    for step in range(len(ring)):
        a, b = flat[ring[step]], flat[ring[(step + 1) % len(ring)]]
        area += (a[0] * b[1] - a[1] * b[0]) / 2
    keep = np.append(ring, np.array([low, high]))
    gap = area - areas
    if gap < -1e-3 * areas - 1e-9:
        return np.inf, 0.0, keep, area
    filled_width = min(math.sqrt(max(gap, 0.0)), _pocket_depth(flat, ring))
    return height[high] - height[low], filled_width, keep, area


@compiled
def _pocket_depth(flat, ring):  # type: ignore[no-untyped-def]
    """Return the largest depth of the points ``flat`` (n, 2) in their convex hull: the distance of
    a point from the nearest edge. ``ring`` contains the indices of the hull's corners."""
    deepest = 0.0
    for row in range(len(flat)):
        depth = np.inf
        for step in range(len(ring)):
            a, b = flat[ring[step]], flat[ring[(step + 1) % len(ring)]]
            length = math.hypot(b[0] - a[0], b[1] - a[1])
            if length > 0:
                across = (b[0] - a[0]) * (flat[row, 1] - a[1]) - (b[1] - a[1]) * (
                    flat[row, 0] - a[0]
                )
                depth = min(depth, across / length)
        if depth < np.inf:
            deepest = max(deepest, depth)
    return deepest


@compiled
def _merge_pair(a, b, corners, pool, start, size, turn, area, slack):  # type: ignore[no-untyped-def]
    """Return the error, the filled width, the kept corners, the area and the area vector of the
    patch that results from merging the patches ``a`` and ``b``.

    ``corners`` (n, 3) are all corners of the mesh. Those of patch i are the indices
    ``pool[start[i] : start[i] + size[i]]``. ``turn``, ``area`` and ``slack`` contain the area
    vector, the area and the filled width of each patch. The error is infinite if the patches cannot
    be merged."""
    sign = 1.0 if _dot(turn[a], turn[b]) >= 0 else -1.0
    area_vector = turn[a] + sign * turn[b]
    length = math.sqrt(_dot(area_vector, area_vector))
    if length < 1e-12:
        return np.inf, 0.0, np.empty(0, np.int64), 0.0, area_vector
    normal = area_vector / length
    cos_a = abs(_dot(turn[a], normal)) / max(math.sqrt(_dot(turn[a], turn[a])), 1e-300)
    cos_b = abs(_dot(turn[b], normal)) / max(math.sqrt(_dot(turn[b], turn[b])), 1e-300)
    if min(cos_a, cos_b) < MIN_COSINE:
        return np.inf, 0.0, np.empty(0, np.int64), 0.0, area_vector
    rows = np.append(pool[start[a] : start[a] + size[a]], pool[start[b] : start[b] + size[b]])
    areas = area[a] * cos_a + area[b] * cos_b
    thick, filled_width, keep, merged_area = _fit_hull(corners[rows], normal, areas)
    filled_width += max(slack[a], slack[b])
    return max(thick, filled_width), filled_width, rows[keep], merged_area, area_vector


@compiled
def _merge_patches(corners, faces, neighbors, levels, free_levels, limit):  # type: ignore[no-untyped-def]
    """Return the patch (n,) of each triangle and the error (n,) (m) of each patch. The index of a
    patch is the index of a triangle in it.

    ``faces`` (n, 3) are indices of ``corners``, and ``neighbors`` (k, 2) are pairs of triangles.
    Patches are merged completely in the first ``free_levels`` of the error ``levels`` (m), and
    then until ``limit`` patches remain.
    """
    n = len(faces)
    pool = np.empty(max(16 * n, 1024), np.int64)
    pool[: 3 * n] = faces.ravel()
    pool_size = 3 * n
    start, size = 3 * np.arange(n), np.full(n, 3, np.int64)
    weight = np.ones(n, np.int64)
    turn, area = np.empty((n, 3)), np.empty(n)
    slack, error = np.zeros(n), np.zeros(n)
    for face in range(n):
        first, second, third = corners[faces[face]]
        turn[face] = _cross(second - first, third - first) / 2
        area[face] = math.sqrt(_dot(turn[face], turn[face]))
    owner = np.arange(n)
    stamp = np.zeros(n, np.int64)
    # The neighbors of each patch are a linked list, since two lists are joined at each merge.
    k = len(neighbors)
    head, tail = np.full(n, _NONE), np.full(n, _NONE)
    next_links = np.full(2 * k, _NONE)
    heap = [(0, 0, 0, 0, 0, 0) for _ in range(0)]
    for pair in range(k):
        for side in range(2):
            face = neighbors[pair, side]
            next_links[2 * pair + side] = head[face]
            if head[face] == _NONE:
                tail[face] = 2 * pair + side
            head[face] = 2 * pair + side
        a, b = neighbors[pair]
        worst = _merge_pair(a, b, corners, pool, start, size, turn, area, slack)[0]
        level = np.searchsorted(levels, worst)
        if level < len(levels):
            heapq.heappush(heap, (level, 2, a, b, 0, 0))
    last_merges = np.full(n, _NONE)
    count, merges = n, 0
    while len(heap) > 0:
        level, _, a, b, stamp_a, stamp_b = heapq.heappop(heap)
        # An entry is outdated if one of its patches was merged later.
        if stamp[a] != stamp_a or stamp[b] != stamp_b:
            continue
        if level >= free_levels and count <= limit:
            break
        worst, filled_width, keep, merged_area, area_vector = _merge_pair(
            a, b, corners, pool, start, size, turn, area, slack
        )
        if pool_size + len(keep) > len(pool):
            pool = np.append(pool[:pool_size], np.empty(len(pool) + len(keep), np.int64))
        start[a], size[a] = pool_size, len(keep)
        pool[pool_size : pool_size + len(keep)] = keep
        pool_size += len(keep)
        area[a], slack[a] = merged_area, filled_width
        turn[a] = area_vector
        error[a] = max(worst, error[a], error[b])
        weight[a] += weight[b]
        owner[b] = a
        stamp[a] += 1
        stamp[b] = _NONE
        count -= 1
        merges += 1
        if head[a] == _NONE:
            head[a], tail[a] = head[b], tail[b]
        elif head[b] != _NONE:
            next_links[tail[a]] = head[b]
            tail[a] = tail[b]
        last, link = _NONE, head[a]
        while link != _NONE:
            neighbor = neighbors[link // 2, 1 - link % 2]
            while owner[neighbor] != neighbor:
                owner[neighbor] = owner[owner[neighbor]]
                neighbor = owner[neighbor]
            if (
                neighbor == a or last_merges[neighbor] == merges
            ):  # merged or already visited: unlink it
                if last == _NONE:
                    head[a] = next_links[link]
                else:
                    next_links[last] = next_links[link]
            else:
                last = link
                last_merges[neighbor] = merges
                lower, upper = min(a, neighbor), max(a, neighbor)
                worst = _merge_pair(lower, upper, corners, pool, start, size, turn, area, slack)[0]
                level = np.searchsorted(levels, worst)
                if level < len(levels):
                    entry = (
                        level,
                        weight[a] + weight[neighbor],
                        lower,
                        upper,
                        stamp[lower],
                        stamp[upper],
                    )
                    heapq.heappush(heap, entry)
            link = next_links[link]
        tail[a] = last
    for face in range(n):
        root = face
        while owner[root] != root:
            root = owner[root]
        owner[face] = root
    return owner, error
