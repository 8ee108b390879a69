"""A small decision tree of failure, whose rates have valid intervals.

The tree is fitted to one half of the worlds. Rates and intervals of its leaves are those of the
other half, since the split values were selected by the outcomes of the first half: S. Athey and G.
Imbens, Proceedings of the National Academy of Sciences 113 (2016) 7353–7360. The halves depend only
on the names of the worlds.
"""

import hashlib
import math
from typing import List, Tuple

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from gz_testauto.analysis.summary import clustered_rate
from gz_testauto.base.json_file import finite_or_none
from gz_testauto.extras.explain.features import FeatureTable
from gz_testauto.extras.explain.stored import LeafRow
from gz_testauto.report.plain import number_text

DEPTH = 2  # largest number of conditions

LEAST_WORLDS = 10
"""Smallest number of worlds of the first half in a leaf, if each world has equally many trials."""


def failure_tree(table: FeatureTable) -> Tuple[LeafRow, ...]:
    """Return the leaves of the tree, from small to large values of the first split's feature."""
    is_first = np.isin(table.worlds, _worlds_for_fit(table))
    first, second = table.rows(is_first), table.rows(~is_first)
    per_world = len(first.failed) / len(set(first.worlds))
    tree = DecisionTreeRegressor(
        max_depth=DEPTH,
        min_samples_leaf=math.ceil(LEAST_WORLDS * per_world),
        random_state=0,  # features with an equal split are tried in a random order
    )
    tree.fit(first.values, first.failed.astype(float))
    nodes = tree.apply(second.values)
    return tuple(
        _leaf_row(second.rows(nodes == node), conditions)
        for node, conditions in _leaves_with_conditions(tree, table)
    )


def _worlds_for_fit(table: FeatureTable) -> List[str]:
    names = sorted(set(table.worlds), key=lambda name: hashlib.sha256(name.encode()).digest())
    return names[::2]


def _leaf_row(table: FeatureTable, conditions: Tuple[str, ...]) -> LeafRow:
    worlds = np.asarray(table.worlds)
    names = list(dict.fromkeys(table.worlds))
    failed = [int(table.failed[worlds == name].sum()) for name in names]
    rate = clustered_rate(failed, [int((worlds == name).sum()) for name in names])
    rates = map(finite_or_none, rate[:3])
    return LeafRow(conditions, len(names), len(table.failed), int(table.failed.sum()), *rates)


def _leaves_with_conditions(
    tree: DecisionTreeRegressor, table: FeatureTable
) -> List[Tuple[int, Tuple[str, ...]]]:
    """Return the node index of each leaf with the conditions that lead to it."""
    nodes = tree.tree_

    def leaves_below(node: int, conditions: Tuple[str, ...]) -> List[Tuple[int, Tuple[str, ...]]]:
        left, right = int(nodes.children_left[node]), int(nodes.children_right[node])
        if left == right:
            return [(node, conditions)]
        feature = table.features[nodes.feature[node]]
        limit = number_text(float(nodes.threshold[node]) * feature.factor, 2)
        text = f"{limit} {feature.unit}".rstrip()
        return [
            *leaves_below(left, (*conditions, f"{feature.heading} ≤ {text}")),
            *leaves_below(right, (*conditions, f"{feature.heading} > {text}")),
        ]

    return leaves_below(0, ())
