"""Read and write behavior trees in the XML format of BehaviorTree.CPP 4.

Composites and decorators have the names and semantics of BehaviorTree.CPP; ``RandomSequence`` and
``RandomSelector`` are additional. The caller provides the leaves by their ID:
``<GoTo x_m="1"/>`` and ``<Action ID="GoTo" x_m="1"/>`` are equivalent. Times are simulated in ms.
Ports with ``{...}`` and scripts are rejected, since blackboards are not supported.
"""

import contextlib
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, Type

import numpy as np
import py_trees
from lxml import etree
from py_trees.behaviour import Behaviour

from gz_testauto.base.disk import read_input
from gz_testauto.base.errors import SpecError
from gz_testauto.base.registry import unknown_name
from gz_testauto.base.xml_file import parse_xml
from gz_testauto.extras.trees import nodes
from gz_testauto.extras.trees.nodes import Clock

Element = Any  # lxml has no public name for it
MakeLeaf = Callable[..., Behaviour]
"""A function that creates a leaf from its name and its XML attributes, keyword arguments of type
str. It raises ``ValueError`` or ``TypeError`` for an invalid attribute."""

_LEAF_TAGS = ("Action", "Condition")
_LABELS = ("ID", "name", "_description")  # attributes that are no parameters of a node
_COMPOSITES = (
    "Sequence",
    "ReactiveSequence",
    "SequenceWithMemory",
    "Fallback",
    "ReactiveFallback",
    "Parallel",
    "ParallelAll",
    "RandomSequence",
    "RandomSelector",
)
_SIMPLE_DECORATORS: Dict[str, Type[Any]] = {
    "Inverter": py_trees.decorators.Inverter,
    "ForceSuccess": py_trees.decorators.FailureIsSuccess,
    "ForceFailure": py_trees.decorators.SuccessIsFailure,
    "KeepRunningUntilFailure": nodes.KeepRunningUntilFailure,
    "UntilFail": nodes.UntilFail,
}
"""The decorators without attributes."""
_DECORATORS = (
    *_SIMPLE_DECORATORS,
    "Repeat",
    "RetryUntilSuccessful",
    "TickLimit",
    "Timeout",
    "Delay",
    "RunOnce",
)
_CONSTANT_LEAVES: Dict[str, Type[Any]] = {
    "AlwaysSuccess": py_trees.behaviours.Success,
    "AlwaysFailure": py_trees.behaviours.Failure,
}
_ATTRIBUTES = {  # of the nodes that have some, without the labels
    "Parallel": ("success_count", "failure_count"),
    "ParallelAll": ("max_failures",),
    "Repeat": ("num_cycles",),
    "RetryUntilSuccessful": ("num_attempts",),
    "TickLimit": ("limit",),
    "Timeout": ("msec",),
    "Delay": ("delay_msec",),
    "Sleep": ("msec",),
}
KNOWN = (*_COMPOSITES, *_DECORATORS, *_CONSTANT_LEAVES, "Sleep", "SubTree")

_FOREVER = -1
MAX_NUMBER = 1e9  # of an attribute: m, s, or rad


def read_tree(
    path: Path,
    leaves: Mapping[str, MakeLeaf],
    clock: Clock,
    random: np.random.Generator,
) -> Behaviour:
    """Return the main tree of a file. Raise ``SpecError`` with the file, line and node if the file
    cannot be read or is invalid."""
    content = read_input(path, SpecError)
    return parse_tree(content, str(path), leaves, clock, random)


def parse_tree(
    content: bytes,
    source: str,
    leaves: Mapping[str, MakeLeaf],
    clock: Clock,
    random: np.random.Generator,
) -> Behaviour:
    """Return the main tree of XML text. ``source`` is the name of the text in error messages. Raise
    ``SpecError`` for invalid XML or invalid nodes."""
    try:
        root = parse_xml(content)
    except etree.XMLSyntaxError as error:
        raise SpecError(f"{source}:{error.lineno}: is not valid XML: {error.msg}") from error
    return _TreeReader(root, source, leaves, clock, random).read()


class _TreeReader:
    def __init__(
        self,
        root: Element,
        source: str,
        leaves: Mapping[str, MakeLeaf],
        clock: Clock,
        random: np.random.Generator,
    ) -> None:
        self._root, self._source, self._leaves = root, source, leaves
        self._clock, self._random = clock, random
        self._trees: Dict[str, Element] = {}
        self._enclosing_trees: List[str] = []

    def read(self) -> Behaviour:
        root = self._root
        if root.tag != "root":
            raise self._error(root, f"the root element is <{root.tag}>, but must be <root>")
        if root.get("BTCPP_format", "4") != "4":
            raise self._error(
                root,
                f"BTCPP_format is {root.get('BTCPP_format')!r}; it must be 4; convert the file to "
                "this format",
            )
        for include in root.findall("include"):
            raise self._error(
                include,
                f"<include> of {include.get('path')!r} is not supported; copy the trees of that "
                "file into this one",
            )
        for tree in root.findall("BehaviorTree"):
            name = tree.get("ID", "")
            if name in self._trees:
                raise self._error(
                    tree, f"a second tree has the ID {name!r}; rename one of the trees"
                )
            self._trees[name] = tree
        if not self._trees:
            raise self._error(root, "<root> has no <BehaviorTree>; add one")
        main = root.get("main_tree_to_execute")
        if main is None:
            if len(self._trees) > 1:
                raise self._error(
                    root,
                    f"the file has the trees {', '.join(self._trees)}, and none is the main tree; "
                    'write main_tree_to_execute="ID" in <root>',
                )
            (main,) = self._trees
        if main not in self._trees:
            raise self._error(root, unknown_name("tree", main, self._trees))
        return self._build_tree(main, self._trees[main])

    def _build_tree(self, name: str, tree: Element) -> Behaviour:
        if name in self._enclosing_trees:
            raise self._error(tree, f"tree {name!r} contains itself")
        children = _child_elements(tree)
        if len(children) != 1:
            raise self._error(
                tree, f"tree {name!r} has {len(children)} root nodes; it must have one"
            )
        self._enclosing_trees.append(name)
        root = self._build_node(children[0])
        self._enclosing_trees.pop()
        return root

    def _build_node(self, element: Element) -> Behaviour:
        tag = str(element.tag)
        name = element.get("name") or element.get("ID") or tag
        for key, value in element.attrib.items():
            if key != "_description" and ("{" in value or key.startswith("_")):
                raise self._error(
                    element, f"{tag}: {key} is {value!r}; ports and scripts are not supported"
                )
            if tag in KNOWN and key not in (*_LABELS, *_ATTRIBUTES.get(tag, ())):
                raise self._error(
                    element, f"{tag}: the attribute {key!r} is not supported; correct or remove it"
                )
        if tag in _COMPOSITES:
            return self._build_composite(element, tag, name)
        if tag in _DECORATORS:
            return self._build_decorator(element, tag, name)
        if tag == "SubTree":
            tree_id = element.get("ID", "")
            if tree_id not in self._trees:
                raise self._error(element, unknown_name("tree", tree_id, self._trees))
            return self._build_tree(tree_id, self._trees[tree_id])
        return self._build_leaf(element, tag, name)

    def _build_composite(self, element: Element, tag: str, name: str) -> Behaviour:
        children = [self._build_node(child) for child in _child_elements(element)]
        if not children:
            raise self._error(element, f"{tag} has no children")
        if tag in ("Sequence", "ReactiveSequence"):
            return py_trees.composites.Sequence(name, tag == "Sequence", children)
        if tag in ("Fallback", "ReactiveFallback"):
            return py_trees.composites.Selector(name, tag == "Fallback", children)
        if tag == "SequenceWithMemory":
            return nodes.SequenceWithMemory(name, children)
        if tag == "RandomSequence":
            return nodes.RandomSequence(name, self._random, children)
        if tag == "RandomSelector":
            return nodes.RandomSelector(name, self._random, children)
        if tag == "ParallelAll":
            max_failures = self._whole_number(element, "max_failures", 1)
            return nodes.CountingParallel(name, -1, max_failures, children)
        return nodes.CountingParallel(
            name,
            self._whole_number(element, "success_count", -1),
            self._whole_number(element, "failure_count", 1),
            children,
        )

    def _build_decorator(self, element: Element, tag: str, name: str) -> Behaviour:
        children = _child_elements(element)
        if len(children) != 1:
            raise self._error(element, f"{tag} has {len(children)} children; it must have one")
        child = self._build_node(children[0])
        decorators = py_trees.decorators
        if tag == "RunOnce":
            policy = py_trees.common.OneShotPolicy.ON_COMPLETION
            return decorators.OneShot(name=name, child=child, policy=policy)
        if tag in _SIMPLE_DECORATORS:
            decorator: Behaviour = _SIMPLE_DECORATORS[tag](name=name, child=child)
            return decorator
        if tag == "Repeat":
            cycles = self._whole_number(element, "num_cycles")
            return decorators.Repeat(name=name, child=child, num_success=cycles)
        if tag == "RetryUntilSuccessful":
            attempts = self._whole_number(element, "num_attempts")
            count = attempts if attempts != _FOREVER else 2**31
            return decorators.Retry(name=name, child=child, num_failures=count)
        if tag == "TickLimit":
            return nodes.TickLimit(name, child, self._whole_number(element, "limit", least=1))
        key = {"Timeout": "msec", "Delay": "delay_msec"}[tag]
        seconds = self._whole_number(element, key, least=0) / 1000.0
        kind = nodes.Timeout if tag == "Timeout" else nodes.Delay
        return kind(name, child, self._clock, seconds)

    def _build_leaf(self, element: Element, tag: str, name: str) -> Behaviour:
        if tag == "Sleep":
            seconds = self._whole_number(element, "msec", least=0) / 1000.0
            return nodes.Wait(name, self._clock, seconds)
        if tag in _CONSTANT_LEAVES:
            leaf: Behaviour = _CONSTANT_LEAVES[tag](name)
            return leaf
        leaf_id = element.get("ID", "") if tag in _LEAF_TAGS else tag
        if leaf_id not in self._leaves:
            raise self._error(element, unknown_name("node", leaf_id, [*KNOWN, *self._leaves]))
        if _child_elements(element):
            raise self._error(element, f"{leaf_id} is a leaf and cannot have children")
        attributes = {k: v for k, v in element.attrib.items() if k not in _LABELS}
        for key, text in attributes.items():
            with contextlib.suppress(ValueError):  # not a number
                if not abs(float(text)) <= MAX_NUMBER:
                    raise self._error(
                        element, f"{leaf_id}: {key} is {text}; its limit is {MAX_NUMBER:g}"
                    )
        try:
            return self._leaves[leaf_id](name, **attributes)
        except (TypeError, ValueError) as error:
            raise self._error(element, f"{leaf_id}: {error}") from error

    def _whole_number(
        self, element: Element, key: str, default: Optional[int] = None, least: int = -(2**31)
    ) -> int:
        text = element.get(key)
        if text is None and default is not None:
            return default
        try:
            value = int(text or "")
        except ValueError as error:
            fault = "is missing" if text is None else f"is {text!r}; it must be a whole number"
            raise self._error(element, f"{element.tag}: {key} {fault}") from error
        if value < least:
            raise self._error(element, f"{element.tag}: {key} is {value}; it must be >= {least}")
        return value

    def _error(self, element: Element, fault: str) -> SpecError:
        return SpecError(f"{self._source}:{element.sourceline}: {fault}")


def write_tree(root: Behaviour, name: str = "main") -> str:
    """Return a behavior tree as XML text that :func:`parse_tree` can read.

    Leaves are written with the names of their classes and their ``attributes``. Raise ``SpecError``
    for a node type that the XML format of BehaviorTree.CPP does not support.
    """
    top = etree.Element("root", BTCPP_format="4", main_tree_to_execute=name)
    top.append(etree.Element("BehaviorTree", ID=name))
    _write_node(root, top[0])
    return str(etree.tostring(top, pretty_print=True, encoding="unicode"))


def _write_node(node: Behaviour, parent: Element) -> None:
    tag, attributes = _described(node)
    element = etree.SubElement(parent, tag)
    if node.name != tag:
        element.set("name", node.name)
    for key, value in attributes.items():
        element.set(key, str(value))
    for child in getattr(node, "_in_order", node.children):
        _write_node(child, element)


def _to_ms(seconds: float) -> int:
    return round(seconds * 1000.0)


def _described(node: Any) -> Tuple[str, Dict[str, Any]]:
    """Return the XML tag and the XML attributes of a node."""
    kind = type(node)
    if kind in _WRITTEN:
        tag, attributes = _WRITTEN[kind]
        return tag, attributes(node)
    if kind is py_trees.composites.Sequence:
        return ("Sequence" if node.memory else "ReactiveSequence"), {}
    if kind is py_trees.composites.Selector:
        return ("Fallback" if node.memory else "ReactiveFallback"), {}
    if not node.children and not isinstance(node, py_trees.decorators.Decorator):
        return kind.__name__, dict(getattr(node, "attributes", {}))
    raise SpecError(
        f"the node {node.name!r} has the type {kind.__name__}, which the XML of BehaviorTree.CPP "
        "does not support; use another type"
    )


def _no_attributes(node: Any) -> Dict[str, Any]:
    return {}


_WRITTEN: Dict[Type[Any], Tuple[str, Callable[[Any], Dict[str, Any]]]] = {
    nodes.SequenceWithMemory: ("SequenceWithMemory", _no_attributes),
    nodes.RandomSequence: ("RandomSequence", _no_attributes),
    nodes.RandomSelector: ("RandomSelector", _no_attributes),
    nodes.TickLimit: ("TickLimit", lambda node: {"limit": node.limit}),
    nodes.Timeout: ("Timeout", lambda node: {"msec": _to_ms(node.duration_s)}),
    nodes.Delay: ("Delay", lambda node: {"delay_msec": _to_ms(node.duration_s)}),
    nodes.Wait: ("Sleep", lambda node: {"msec": _to_ms(node.duration_s)}),
    **{kind: (tag, _no_attributes) for tag, kind in _SIMPLE_DECORATORS.items()},
    **{kind: (tag, _no_attributes) for tag, kind in _CONSTANT_LEAVES.items()},
    py_trees.decorators.OneShot: ("RunOnce", _no_attributes),
    py_trees.decorators.Repeat: ("Repeat", lambda node: {"num_cycles": node.num_success}),
    py_trees.decorators.Retry: (
        "RetryUntilSuccessful",
        lambda node: {"num_attempts": node.num_failures},
    ),
    **{
        kind: (
            "Parallel",
            lambda node: {"success_count": node.success_count, "failure_count": node.failure_count},
        )
        for kind in (nodes.CountingParallel, nodes.ParallelSelector)
    },
}


def _child_elements(parent: Element) -> List[Element]:
    return [child for child in parent if isinstance(child.tag, str)]
