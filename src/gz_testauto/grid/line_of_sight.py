"""Compiled inner loops of :mod:`gz_testauto.grid.visibility`.

Outlines consist of directed edges with the free side on their left. Edge ``e`` leads from
``tails[e]`` to ``tails[after[e]]`` (m). Nodes are the ends of a path and the corners at which it
can bend. ``starting[n]`` is the edge that starts at node ``n``, or -1 for an end of the path.
``into[n]`` and ``out[n]`` are the vectors of the edges that end and start there, or 0.
"""

import math

import numpy as np

from gz_testauto.base.compiled import compiled

TOUCH_M = 1e-9


@compiled
def _touches(x, y, end_x, end_y, tail_x, tail_y, head_x, head_y, margin):  # type: ignore[no-untyped-def]
    """Return whether the segment from (x, y) to (end_x, end_y) touches the edge from its tail to
    its head, or is closer to it than the tolerance. ``margin`` is ``TOUCH_M`` times the length of
    the segment."""
    # Without this tolerance, a segment could pass through a corner into collinear outlines.
    along_x, along_y = end_x - x, end_y - y
    level = along_x * y - along_y * x
    tail_side = along_x * tail_y - along_y * tail_x - level
    head_side = along_x * head_y - along_y * head_x - level
    if tail_side > margin and head_side > margin:
        return False
    if tail_side < -margin and head_side < -margin:
        return False
    edge_x, edge_y = head_x - tail_x, head_y - tail_y
    edge_margin = TOUCH_M * math.hypot(edge_x, edge_y)
    start_side = edge_x * (y - tail_y) - edge_y * (x - tail_x)
    end_side = edge_x * (end_y - tail_y) - edge_y * (end_x - tail_x)
    if min(start_side, end_side) > edge_margin or max(start_side, end_side) < -edge_margin:
        return False
    # Collinear segments touch only if they overlap.
    low = (tail_x - x) * along_x + (tail_y - y) * along_y
    high = (head_x - x) * along_x + (head_y - y) * along_y
    return max(low, high) >= 0 and min(low, high) <= along_x * along_x + along_y * along_y


@compiled
def _blocking_edge(x, y, end_x, end_y, own_start, own_end, tails, next_edges, likely_edge):  # type: ignore[no-untyped-def]
    """Return the index of an edge that the segment from (x, y) to (end_x, end_y) touches, or -1.
    Edges at the corners ``own_start`` and ``own_end`` are ignored, since the segment is tangent
    there. The edge ``likely_edge`` is checked first, unless it is -1."""
    margin = TOUCH_M * math.hypot(end_x - x, end_y - y)
    for number in range(-1 if likely_edge >= 0 else 0, len(tails)):
        edge = likely_edge if number < 0 else number
        head = next_edges[edge]
        if edge in (own_start, own_end) or head in (own_start, own_end):
            continue
        tail_x, tail_y = tails[edge, 0], tails[edge, 1]
        if _touches(x, y, end_x, end_y, tail_x, tail_y, tails[head, 0], tails[head, 1], margin):
            return edge
    return -1


@compiled
def touches_any(path, tails, next_edges):  # type: ignore[no-untyped-def]
    """Return whether a path (n, 2) touches any edge."""
    for start in range(len(path) - 1):
        x, y, end_x, end_y = path[start, 0], path[start, 1], path[start + 1, 0], path[start + 1, 1]
        if _blocking_edge(x, y, end_x, end_y, -1, -1, tails, next_edges, -1) >= 0:
            return True
    return False


@compiled
def _is_tangent(along_x, along_y, incoming_edges, outgoing_edges, node):  # type: ignore[no-untyped-def]
    """Return whether the outline at a node is on one side of a line, so that a shortest path can
    bend there."""
    into_side = along_x * incoming_edges[node, 1] - along_y * incoming_edges[node, 0]
    out_side = along_x * outgoing_edges[node, 1] - along_y * outgoing_edges[node, 0]
    return into_side * out_side >= -TOUCH_M * TOUCH_M


@compiled
def shortest_path_nodes(nodes, start_edges, incoming_edges, outgoing_edges, tails, next_edges):  # type: ignore[no-untyped-def]
    """Return the indices of the nodes of the shortest path from node 0 to node 1 by A*, or an empty
    array if no path exists."""
    count = len(nodes)
    ahead = np.empty(count)
    for n in range(count):
        ahead[n] = math.hypot(nodes[n, 0] - nodes[1, 0], nodes[n, 1] - nodes[1, 1])
    path_lengths, predecessors = np.full(count, np.inf), np.full(count, -1)
    path_lengths[0] = 0.0
    waiting = np.arange(count)
    current_node = 0
    while current_node != 1:
        min_length, position = np.inf, -1
        for number in range(len(waiting)):
            node = waiting[number]
            if path_lengths[node] + ahead[node] < min_length:
                min_length, position = path_lengths[node] + ahead[node], number
        if position < 0:
            return np.empty(0, np.int64)
        current_node = waiting[position]
        waiting[position] = waiting[-1]
        waiting = waiting[:-1]
        blocking = -1  # the edge that hides one node often hides the next
        for node in waiting:
            along_x, along_y = (
                nodes[node, 0] - nodes[current_node, 0],
                nodes[node, 1] - nodes[current_node, 1],
            )
            path_length = path_lengths[current_node] + math.hypot(along_x, along_y)
            if path_length >= path_lengths[node]:
                continue
            if not _is_tangent(along_x, along_y, incoming_edges, outgoing_edges, current_node):
                continue
            if not _is_tangent(along_x, along_y, incoming_edges, outgoing_edges, node):
                continue
            i, j = min(current_node, node), max(current_node, node)
            x, y, end_x, end_y = nodes[i, 0], nodes[i, 1], nodes[j, 0], nodes[j, 1]
            edge = _blocking_edge(
                x, y, end_x, end_y, start_edges[i], start_edges[j], tails, next_edges, blocking
            )
            if edge < 0:
                path_lengths[node], predecessors[node] = path_length, current_node
            else:
                blocking = edge
    length = 1
    while predecessors[current_node] >= 0:
        current_node = predecessors[current_node]
        length += 1
    path = np.empty(length, np.int64)
    current_node = 1
    for number in range(length - 1, -1, -1):
        path[number] = current_node
        current_node = predecessors[current_node]
    return path


@compiled
def distances(points, corners, first):  # type: ignore[no-untyped-def]
    """Return the distances of points (n, 2) outside all outlines from m outlines, shape (n, m).

    The corners of outline k are ``corners[first[k]:first[k + 1]]``. The last corner repeats the
    first one, unless the outline is a point.
    """
    result = np.empty((len(points), len(first) - 1))
    for outline in range(len(first) - 1):
        low, high = first[outline], first[outline + 1]
        for row in range(len(points)):
            min_square = np.inf
            for corner in range(low, max(low + 1, high - 1)):
                tail_x, tail_y = corners[corner, 0], corners[corner, 1]
                next_corner = min(corner + 1, high - 1)
                edge_x, edge_y = corners[next_corner, 0] - tail_x, corners[next_corner, 1] - tail_y
                x, y = points[row, 0] - tail_x, points[row, 1] - tail_y
                square = max(edge_x * edge_x + edge_y * edge_y, 1e-300)
                share = min(max((x * edge_x + y * edge_y) / square, 0.0), 1.0)
                x, y = x - share * edge_x, y - share * edge_y
                min_square = min(min_square, x * x + y * y)
            result[row, outline] = math.sqrt(min_square)
    return result
