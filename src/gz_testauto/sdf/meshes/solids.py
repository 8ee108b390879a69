"""Separate the triangles of a mesh that enclose a solid from open surfaces."""

from typing import Optional, Tuple

import numpy as np

# decimal digits, relative to the size of the mesh, to which coordinates of one corner agree
_DIGITS = 7


def find_solids(triangles: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
    """Remove duplicate faces, and find the triangles that enclose a solid.

    Returns the triangles (m, 3, 3) in their original order, without duplicates and reversed
    duplicates. Corners that differ by rounding errors are joined. The mask (m,) selects the
    triangles that enclose a solid, which are oriented consistently. A connected part is solid if
    its faces without a reversed duplicate form a closed surface. It is also solid if all its faces
    form a closed surface when each face is used once.
    """
    # Many programs write each face twice, once with each orientation. If both copies were used,
    # they would cancel each other, and the mesh would have no interior.
    corners = numbered_corners(triangles)
    triangles = _joined(triangles, corners)
    has_area = (corners != np.roll(corners, 1, axis=1)).all(axis=1)
    _, first, twins = np.unique(
        np.sort(corners, axis=1), axis=0, return_index=True, return_inverse=True
    )
    twins = twins.ravel()
    # A face and its reversed duplicate have opposite signs, so that they cancel.
    balance = np.zeros(len(first), dtype=np.int64)
    np.add.at(balance, twins, _permutation_sign(corners))
    is_kept = ~has_area
    is_kept[first] = True

    result, corners, has_area = triangles[is_kept], corners[is_kept], has_area[is_kept]
    is_single = has_area & (balance[twins][is_kept] != 0)
    part, edge, uses = _connected_parts(corners)
    is_closed = np.zeros(part.max() + 1, dtype=bool)
    is_closed[part[is_single]] = True
    is_closed[part[_has_open_edge(corners, edge, is_single)]] = False
    is_solid = (
        is_closed[part] & is_single | ~has_area
    )  # triangles without area have no effect in either group

    is_simple = ~is_closed
    is_simple[part[(uses[edge] != 2).any(axis=1)]] = False
    for number in np.flatnonzero(is_simple):
        faces = np.flatnonzero(part == number)
        flips = _orientation(corners[faces], edge[faces])
        if flips is not None:
            result[faces[flips]] = result[faces[flips]][:, ::-1]
            is_solid[faces] = True
    return result, is_solid


def numbered_corners(triangles: np.ndarray) -> np.ndarray:
    """Return the corners of triangles (n, 3, 3) as indices (n, 3). Corners have the same index if
    their positions are equal after rounding to 7 digits, relative to the size of the mesh."""
    corners = triangles.reshape(-1, 3)
    span = float(np.ptp(corners, axis=0).max()) or 1.0
    _, index = np.unique(np.round(corners / span, _DIGITS), axis=0, return_inverse=True)
    return np.asarray(index).reshape(-1, 3).astype(np.int64)


def _joined(triangles: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Return a copy of ``triangles`` (n, 3, 3) in which corners with the same index in ``corners``
    (n, 3) have the same position."""
    _, first = np.unique(corners, return_index=True)
    return np.asarray(triangles.reshape(-1, 3)[first][corners])


def _permutation_sign(faces: np.ndarray) -> np.ndarray:
    """Return the sign (n,) of the permutation that sorts the three corners of each face (n, 3)."""
    a, b, c = faces.T
    swaps = (a > b).astype(np.int64) + (a > c) + (b > c)
    return np.where(swaps % 2 == 0, 1, -1)


def _directed_edges(faces: np.ndarray) -> np.ndarray:
    """Return the edges (3 n, 2) of faces (n, 3), in their order and direction."""
    return np.stack([faces, np.roll(faces, -1, axis=1)], axis=2).reshape(-1, 2)


def _connected_parts(faces: np.ndarray) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the index (n,) of the connected part of each face (n, 3), the indices (n, 3) of the
    edges of each face, and the number of faces at each edge. Faces with a common edge are
    connected."""
    from scipy import sparse
    from scipy.sparse import csgraph

    _, edge, uses = np.unique(
        np.sort(_directed_edges(faces), axis=1), axis=0, return_inverse=True, return_counts=True
    )
    face = np.repeat(np.arange(len(faces)), 3)
    node = edge.ravel() + len(faces)
    size = len(faces) + len(uses)
    graph = sparse.coo_matrix((np.ones(len(face), dtype=bool), (face, node)), shape=(size, size))
    part = csgraph.connected_components(graph, directed=False)[1][: len(faces)]
    return part, edge.reshape(-1, 3), uses


def _has_open_edge(faces: np.ndarray, edge: np.ndarray, selection: np.ndarray) -> np.ndarray:
    """Return a mask (n,) of the selected faces that have an open edge. An edge is open if the
    selected faces do not use it equally often in both directions. ``selection`` is a mask (n,), and
    ``edge`` (n, 3) contains the indices of the edges of each face."""
    start, end = _directed_edges(faces).reshape(-1, 3, 2).transpose(2, 0, 1)
    balance = np.zeros(int(edge.max()) + 1, dtype=np.int64)
    np.add.at(balance, edge[selection], np.where(start < end, 1, -1)[selection])
    return selection & (balance[edge] != 0).any(axis=1)


def _orientation(faces: np.ndarray, edge: np.ndarray) -> Optional[np.ndarray]:
    """Return a mask (n,) of the faces that must be flipped for a consistent orientation, or None if
    no consistent orientation exists. The surface must be connected. ``edge`` (n, 3) contains the
    indices of its edges, and each edge must be used twice."""
    from scipy import sparse
    from scipy.sparse import csgraph

    sides_of_edge = np.argsort(edge.ravel(), kind="stable").reshape(-1, 2)
    first_face, second_face = (sides_of_edge // 3).T
    starts = faces.ravel()[sides_of_edge]
    is_same = starts[:, 0] == starts[:, 1]
    graph = sparse.coo_matrix(
        (np.where(is_same, 2, 1), (first_face, second_face)), shape=(len(faces),) * 2
    )
    graph = graph.tocsr().maximum(graph.tocsr().T)
    order, predecessors = csgraph.breadth_first_order(graph, 0, directed=False)
    turns = np.asarray(graph[predecessors[order[1:]], order[1:]]).ravel() == 2
    flips = np.zeros(len(faces), dtype=bool)
    for face, turn in zip(order[1:], turns):
        flips[face] = flips[predecessors[face]] ^ turn
    return flips if (flips[first_face] ^ flips[second_face] == is_same).all() else None
