"""The compiled part of the search: integration of edges, and growth of the tree.

The caller draws all random numbers, so that the same seed results in the same tree on every
machine. A state is x, y, heading and speed; see :mod:`.model`.
"""

import math
from typing import NamedTuple

import numpy as np

from gz_testauto.base.compiled import compiled
from gz_testauto.extras.roads.sst.model import (
    HEADING_WEIGHT,
    INVALID_PENALTY,
    SPEED_WEIGHT,
    Costs,
    Growth,
    Vehicle,
)
from gz_testauto.extras.roads.sst.road import SPACING_M, RoadSection

BUCKET_M = 1.0  # side length of the squares in the spatial index of nodes

NODES, WITNESSES = 0, 1  # indices in ``SearchTree.counts``


class SearchScene(NamedTuple):
    """The input of a search tree.

    ``sizes_m`` and ``poses`` are those of the objects. Discs of radius ``disc_m``, centered
    ``discs_m`` ahead of the rear axle, represent the vehicle and must contain no static points.
    """

    vehicle: Vehicle
    costs: Costs
    growth: Growth
    road: RoadSection
    sizes_m: np.ndarray
    poses: np.ndarray
    discs_m: np.ndarray
    disc_m: float


class SearchTree(NamedTuple):
    """The nodes and witnesses of a search tree, in arrays of fixed size.

    Each square of the spatial index has linked lists of nodes and witnesses: ``heads`` are the
    first nodes, ``following`` the next ones. ``begins`` is the first step of the edge that leads to
    a node, ``steps`` its duration. ``keeper`` is the node that a witness keeps.
    """

    states: np.ndarray
    parents: np.ndarray
    controls: np.ndarray
    begins: np.ndarray
    steps: np.ndarray
    costs: np.ndarray
    active: np.ndarray
    informed: np.ndarray
    heads: np.ndarray
    following: np.ndarray
    witnesses: np.ndarray
    keeper: np.ndarray
    witness_heads: np.ndarray
    witness_following: np.ndarray
    counts: np.ndarray


def new_tree(root: np.ndarray, scene: SearchScene, most: int) -> SearchTree:
    """Return a tree with the root state (4,) and space for ``most`` nodes."""
    rows, columns = scene.road.penalty.shape
    squares = tuple(int(cells * scene.road.cell_m / BUCKET_M) + 1 for cells in (rows, columns))
    tree = SearchTree(
        np.empty((most, 4)),
        np.full(most, -1),
        np.zeros((most, 2)),
        np.zeros(most, dtype=np.int64),
        np.zeros(most, dtype=np.int64),
        np.zeros(most),
        np.zeros(most, dtype=bool),
        np.zeros(most, dtype=bool),
        np.full(squares, -1),
        np.full(most, -1),
        np.empty((most, 4)),
        np.full(most, -1),
        np.full(squares, -1),
        np.full(most, -1),
        np.zeros(2, dtype=np.int64),
    )
    add_node(tree, scene, -1, np.asarray(root, dtype=float), 0.0, 0.0, 0, 0.0, True)
    return tree


@compiled
def distance(first, second):  # type: ignore[no-untyped-def]
    """Return the weighted distance of two states (x, y, heading, speed)."""
    turn = first[2] - second[2]
    turn -= 2.0 * math.pi * math.floor(turn / (2.0 * math.pi) + 0.5)
    return (
        math.hypot(first[0] - second[0], first[1] - second[1])
        + HEADING_WEIGHT * abs(turn)
        + SPEED_WEIGHT * abs(first[3] - second[3])
    )


@compiled
def are_separate(x, y, cos, sin, half_length, half_width, pose, size):  # type: ignore[no-untyped-def]
    """Return whether two rectangles are disjoint (separating axis theorem).

    The first has its center at (x, y), and ``cos`` and ``sin`` are those of its heading. The second
    has its center at ``pose`` (3,), and length and width ``size`` (2,).
    """
    dx, dy = pose[0] - x, pose[1] - y
    other_cos, other_sin = math.cos(pose[2]), math.sin(pose[2])
    along, across = abs(cos * other_cos + sin * other_sin), abs(cos * other_sin - sin * other_cos)
    length, width = 0.5 * size[0], 0.5 * size[1]
    if abs(cos * dx + sin * dy) > half_length + along * length + across * width:
        return True
    if abs(cos * dy - sin * dx) > half_width + across * length + along * width:
        return True
    if abs(other_cos * dx + other_sin * dy) > length + along * half_length + across * half_width:
        return True
    return abs(other_cos * dy - other_sin * dx) > width + across * half_length + along * half_width


@compiled
def _cell_of(road, x, y):  # type: ignore[no-untyped-def]
    """Return the row and the column of the cell, or -1, -1 outside the grid."""
    column = math.floor((x - road.origin_m[0]) / road.cell_m + 0.5)
    row = math.floor((y - road.origin_m[1]) / road.cell_m + 0.5)
    rows, columns = road.penalty.shape
    if 0 <= row < rows and 0 <= column < columns:
        return int(row), int(column)
    return -1, -1


@compiled
def _bucket_of(heads, road, state):  # type: ignore[no-untyped-def]
    """Return the row and the column of the nearest bucket of nodes."""
    rows, columns = heads.shape
    row = int((state[1] - road.origin_m[1]) / BUCKET_M)
    column = int((state[0] - road.origin_m[0]) / BUCKET_M)
    return min(max(row, 0), rows - 1), min(max(column, 0), columns - 1)


@compiled
def free_distance_at(scene, state):  # type: ignore[no-untyped-def]
    """Return the smallest distance (m) of the centers of the vehicle's discs to static points."""
    cos, sin = math.cos(state[2]), math.sin(state[2])
    nearest_m = np.inf
    for ahead in scene.discs_m:
        row, column = _cell_of(scene.road, state[0] + ahead * cos, state[1] + ahead * sin)
        if row >= 0:
            nearest_m = min(nearest_m, scene.road.free_distance_m[row, column])
    return nearest_m


@compiled
def _cost_per_m(scene, state, step):  # type: ignore[no-untyped-def]
    """Return the cost per meter ``step`` steps after the start, or -1 in an invalid state."""
    vehicle, costs, road = scene.vehicle, scene.costs, scene.road
    if not 0.0 <= state[3] <= vehicle.max_speed_mps:
        return -1.0
    row, column = _cell_of(road, state[0], state[1])
    if row < 0 or road.penalty[row, column] >= INVALID_PENALTY:
        return -1.0
    penalty = road.penalty[row, column]
    cos, sin = math.cos(state[2]), math.sin(state[2])
    nearest_m = free_distance_at(scene, state)
    if nearest_m <= scene.disc_m:
        return -1.0
    nearest_m /= costs.clearance_across_m
    field = costs.clearance_height * math.exp(-0.5 * nearest_m * nearest_m)
    x, y = state[0] + vehicle.center_m * cos, state[1] + vehicle.center_m * sin
    half_length, half_width = 0.5 * vehicle.length_m, 0.5 * vehicle.width_m
    last = scene.poses.shape[1] - 1
    for number in range(len(scene.sizes_m)):
        pose = scene.poses[number, min(step, last)]
        if not are_separate(x, y, cos, sin, half_length, half_width, pose, scene.sizes_m[number]):
            return -1.0
        dx, dy = x - pose[0], y - pose[1]
        other_cos, other_sin = math.cos(pose[2]), math.sin(pose[2])
        along = (other_cos * dx + other_sin * dy) / costs.clearance_along_m
        across = (other_cos * dy - other_sin * dx) / costs.clearance_across_m
        field += costs.clearance_height * math.exp(-0.5 * (along * along + across * across))
    return (
        costs.path
        + costs.speed * abs(state[3] - costs.desired_speed_mps)
        + costs.penalty * penalty
        + costs.clearance * field
    )


@compiled
def _advance(state, accel, rate, step_s):  # type: ignore[no-untyped-def]
    """Advance ``state`` by one step of the bicycle model. ``rate`` is tan δ / L."""
    speed = state[3]
    state[0] += speed * math.cos(state[2]) * step_s
    state[1] += speed * math.sin(state[2]) * step_s
    state[2] += speed * rate * step_s
    state[3] += accel * step_s


@compiled
def integrate_edge(scene, state, accel, steer, first, steps):  # type: ignore[no-untyped-def]
    """Apply a control from step ``first`` for ``steps`` steps.

    Return the final state, and the cost, or -1 if a state is invalid.
    """
    current = state.copy()
    price = _cost_per_m(scene, current, first)
    if price < 0.0:
        return current, -1.0
    step_s, rate = scene.growth.step_s, math.tan(steer) / scene.vehicle.wheelbase_m
    cost = 0.0
    for step in range(first + 1, first + steps + 1):
        driven_m = current[3] * step_s
        _advance(current, accel, rate, step_s)
        after = _cost_per_m(scene, current, step)
        if after < 0.0:
            return current, -1.0
        # trapezoidal rule over the distance
        cost += 0.5 * (price + after) * driven_m
        price = after
    return current, cost


@compiled
def replay(state, controls, steps, step_s, wheelbase_m):  # type: ignore[no-untyped-def]
    """Return the states (s, 4) from ``state`` for controls (e, 2) of ``steps`` (e,), as in
    :func:`integrate_edge`."""
    states = np.empty((1 + steps.sum(), 4))
    here = state.copy()
    states[0] = here
    index = 0
    for edge in range(len(steps)):
        rate = math.tan(controls[edge, 1]) / wheelbase_m
        for _ in range(steps[edge]):
            _advance(here, controls[edge, 0], rate, step_s)
            index += 1
            states[index] = here
    return states


@compiled
def add_node(tree, scene, parent, state, accel, steer, steps, cost, informed):  # type: ignore[no-untyped-def]
    """Add the node ``state`` after ``parent``, and return its index.

    If the witness keeps a node that is not more expensive, nothing is added, and -1 is returned. An
    ``informed`` node is always added.
    """
    total, begin = cost, 0
    if parent >= 0:
        total += tree.costs[parent]
        begin = tree.begins[parent] + tree.steps[parent]
    row, column = _bucket_of(tree.heads, scene.road, state)
    witness = _nearest_witness(tree, row, column, state, scene.growth.pruning)
    if witness < 0:
        witness = tree.counts[WITNESSES]
        tree.counts[WITNESSES] += 1
        tree.witnesses[witness] = state
        tree.witness_following[witness] = tree.witness_heads[row, column]
        tree.witness_heads[row, column] = witness
    kept = tree.keeper[witness]
    cheaper = kept < 0 or total < tree.costs[kept]
    if not (cheaper or informed):
        return -1
    node = tree.counts[NODES]
    tree.counts[NODES] += 1
    tree.states[node], tree.parents[node], tree.costs[node] = state, parent, total
    tree.controls[node, 0], tree.controls[node, 1] = accel, steer
    tree.begins[node], tree.steps[node] = begin, steps
    tree.active[node], tree.informed[node] = True, informed
    tree.following[node] = tree.heads[row, column]
    tree.heads[row, column] = node
    if cheaper:
        if kept >= 0 and not (informed and tree.informed[kept]):
            tree.active[kept] = False
        tree.keeper[witness] = node
    return node


@compiled
def _nearest_witness(tree, row, column, state, within):  # type: ignore[no-untyped-def]
    """Return the index of the nearest witness at a distance of at most ``within``, or -1."""
    rows, columns = tree.heads.shape
    best, least = -1, within
    for i in range(max(row - 1, 0), min(row + 1, rows - 1) + 1):
        for j in range(max(column - 1, 0), min(column + 1, columns - 1) + 1):
            witness = tree.witness_heads[i, j]
            while witness >= 0:
                away = distance(tree.witnesses[witness], state)
                if away <= least:
                    best, least = witness, away
                witness = tree.witness_following[witness]
    return best


@compiled
def _select_node(tree, road, state, within):  # type: ignore[no-untyped-def]
    """Return the index of the cheapest active node within the distance ``within`` of ``state``, or
    else that of the nearest active node, or -1 if no node is active."""
    rows, columns = tree.heads.shape
    row, column = _bucket_of(tree.heads, road, state)
    nearest, least, cheapest, cheapest_cost = -1, np.inf, -1, np.inf
    # the squares of the spatial index in rings around the state
    for ring in range(max(rows, columns)):
        for i in range(max(row - ring, 0), min(row + ring, rows - 1) + 1):
            is_full_row = ring == 0 or i == row - ring or i == row + ring
            for j in range(column - ring, column + ring + 1, 1 if is_full_row else 2 * ring):
                if not 0 <= j < columns:
                    continue
                node = tree.heads[i, j]
                while node >= 0:
                    if tree.active[node]:
                        away = distance(tree.states[node], state)
                        if away < least:
                            nearest, least = node, away
                        if away <= within and tree.costs[node] < cheapest_cost:
                            cheapest, cheapest_cost = node, tree.costs[node]
                    node = tree.following[node]
        if ring * BUCKET_M >= max(least, within):
            break
    return cheapest if cheapest >= 0 else nearest


@compiled
def grow_previous(tree, scene, controls, steps):  # type: ignore[no-untyped-def]
    """Apply the controls (e, 2) of the last trajectory from the root until a state is invalid."""
    node = 0
    for edge in range(len(steps)):
        begin = tree.begins[node] + tree.steps[node]
        accel, steer = controls[edge, 0], controls[edge, 1]
        end, cost = integrate_edge(scene, tree.states[node], accel, steer, begin, steps[edge])
        if cost < 0.0:
            break
        node = add_node(tree, scene, node, end, accel, steer, steps[edge], cost, True)


@compiled
def grow_lane(tree, scene, draws, goal_m):  # type: ignore[no-untyped-def]
    """Grow the tree along the lane of the root by up to n edges, each from the end of the last one.

    ``draws`` (n, k, 2) are k random controls for each edge. The control whose state is nearest to a
    point ahead on the lane, with the desired speed, becomes the edge. ``goal_m`` is the position
    (m) of the goal along the lane.
    """
    road, growth, steps = scene.road, scene.growth, scene.growth.edge_steps
    node = 0
    for edge in range(len(draws)):
        current = tree.states[node]
        row, column = _cell_of(road, current[0], current[1])
        away = math.hypot(current[0] - tree.states[0, 0], current[1] - tree.states[0, 1])
        if row < 0 or away > growth.lane_length_m:
            break
        arc = road.arc_m[row, column]
        if abs(arc - goal_m) <= growth.goal_threshold_m:
            break
        at = int((arc + growth.lane_lookahead_m - road.line_arc_m) / SPACING_M + 0.5)
        at = min(max(at, 0), len(road.line_m) - 1)
        target = np.array([road.line_m[at, 0], road.line_m[at, 1], road.headings_rad[at], 0.0])
        target[3] = scene.costs.desired_speed_mps
        begin = tree.begins[node] + tree.steps[node]
        chosen, least, price, reached = -1, np.inf, 0.0, current
        for number in range(draws.shape[1]):
            accel, steer = draws[edge, number, 0], draws[edge, number, 1]
            end, cost = integrate_edge(scene, current, accel, steer, begin, steps)
            if cost >= 0.0 and distance(end, target) < least:
                chosen, least, price, reached = number, distance(end, target), cost, end
        if chosen < 0:
            break
        accel, steer = draws[edge, chosen, 0], draws[edge, chosen, 1]
        node = add_node(tree, scene, node, reached, accel, steer, steps, price, True)


@compiled
def grow_at_random(tree, scene, samples, draws):  # type: ignore[no-untyped-def]
    """Grow the tree toward random states (n, 4) by random controls (n, 2)."""
    steps = scene.growth.edge_steps
    for number in range(len(samples)):
        node = _select_node(tree, scene.road, samples[number], scene.growth.selection)
        begin = tree.begins[node] + tree.steps[node]
        accel, steer = draws[number, 0], draws[number, 1]
        end, cost = integrate_edge(scene, tree.states[node], accel, steer, begin, steps)
        if cost >= 0.0:
            add_node(tree, scene, node, end, accel, steer, steps, cost, False)


@compiled
def cheapest_path(tree, scene, goal_m, least_m):  # type: ignore[no-untyped-def]
    """Return controls (e, 2), steps (e,) and the cost of the cheapest trajectory to the goal.

    If no trajectory reaches the goal, return the trajectory with the largest progress beyond
    ``least_m``. If there is none, e is 0 and the cost is -1.
    """
    road, best, farthest, far_m = scene.road, -1, -1, least_m
    for node in range(1, tree.counts[NODES]):
        row, column = _cell_of(road, tree.states[node, 0], tree.states[node, 1])
        if row < 0:
            continue
        arc_m = road.arc_m[row, column]
        if arc_m > far_m:
            farthest, far_m = node, arc_m
        there = abs(arc_m - goal_m) <= scene.growth.goal_threshold_m
        if there and (best < 0 or tree.costs[node] < tree.costs[best]):
            best = node
    if best < 0:
        best = farthest
    edge_count, node = 0, best
    while node > 0:
        edge_count += 1
        node = tree.parents[node]
    controls, steps = np.empty((edge_count, 2)), np.empty(edge_count, dtype=np.int64)
    node = best
    for place in range(edge_count - 1, -1, -1):
        controls[place], steps[place] = tree.controls[node], tree.steps[node]
        node = tree.parents[node]
    return controls, steps, tree.costs[best] if best >= 0 else -1.0
