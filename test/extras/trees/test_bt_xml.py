"""BehaviorTree.CPP's XML: read as it means, written so that it reads back, refused by line."""

import os
import re

import numpy as np
import py_trees
import pytest
from py_trees.common import Status

from gz_testauto.base.errors import SpecError
from gz_testauto.extras.trees import nodes
from gz_testauto.extras.trees.bt_xml import KNOWN, parse_tree, read_tree, write_tree


class Note(py_trees.behaviour.Behaviour):
    def __init__(self, name, log, status="SUCCESS"):
        super().__init__(name)
        self.log, self.ends = log, Status[status]
        self.attributes = {"status": status}

    def update(self):
        self.log.append(self.name)
        return self.ends


def parse(inside, log=None, clock=None, whole=False):
    text = (
        inside
        if whole
        else f'<root BTCPP_format="4"><BehaviorTree ID="m">{inside}</BehaviorTree></root>'
    )
    leaves = {"Note": lambda name, **a: Note(name, [] if log is None else log, **a)}
    return parse_tree(
        text.encode(), "t.xml", leaves, clock or nodes.Clock(), np.random.default_rng(1)
    )


def tick(node):
    for _ in node.tick():
        pass
    return node.status


def test_leaves_are_named_by_tag_or_by_id():
    log = []
    root = parse('<Sequence><Note name="a"/><Action ID="Note" name="b"/></Sequence>', log)
    assert tick(root) == Status.SUCCESS
    assert log == ["a", "b"]


@pytest.mark.parametrize(
    ("xml", "status", "order"),
    [
        ('<Fallback><Note name="a" status="FAILURE"/><Note name="b"/></Fallback>', "SUCCESS", "ab"),
        ('<Sequence><Note name="a" status="FAILURE"/><Note name="b"/></Sequence>', "FAILURE", "a"),
        ('<Inverter><Note name="a"/></Inverter>', "FAILURE", "a"),
        ('<ForceSuccess><Note name="a" status="FAILURE"/></ForceSuccess>', "SUCCESS", "a"),
        ('<ForceFailure><Note name="a"/></ForceFailure>', "FAILURE", "a"),
        (
            '<Parallel success_count="1"><Note name="a"/><Note name="b"/></Parallel>',
            "SUCCESS",
            "ab",
        ),
        ('<Note name="a" _description="walk {slowly}"/>', "SUCCESS", "a"),
        ("<AlwaysSuccess/>", "SUCCESS", ""),
        ("<AlwaysFailure/>", "FAILURE", ""),
    ],
)
def test_nodes_of_each_name_have_the_documented_status(xml, status, order):
    log = []
    assert tick(parse(xml, log)) == Status[status]
    assert "".join(log) == order


def test_repeat_and_retry_stop_after_the_specified_number():
    log = []
    root = parse('<Repeat num_cycles="3"><Note name="a"/></Repeat>', log)
    statuses = [tick(root) for _ in range(3)]
    assert statuses[-1] == Status.SUCCESS
    assert log == ["a"] * 3
    root = parse(
        '<RetryUntilSuccessful num_attempts="2"><Note name="b" status="FAILURE"/>'
        "</RetryUntilSuccessful>"
    )
    assert [tick(root) for _ in range(2)][-1] == Status.FAILURE


def test_times_are_milliseconds_of_simulated_time():
    clock = nodes.Clock()
    root = parse('<Timeout msec="500"><Sleep msec="2000"/></Timeout>', clock=clock)
    found = []
    for step in range(6):
        clock.now_s = 0.1 * step
        found.append(tick(root))
    assert found == [Status.RUNNING] * 5 + [Status.FAILURE]


def test_subtrees_are_inserted():
    log = []
    text = (
        '<root BTCPP_format="4" main_tree_to_execute="b"><BehaviorTree ID="a"><Note name="x"/>'
        '</BehaviorTree><BehaviorTree ID="b"><Sequence><SubTree ID="a"/><SubTree ID="a"/>'
        "</Sequence></BehaviorTree></root>"
    )
    assert tick(parse(text, log, whole=True)) == Status.SUCCESS
    assert log == ["x", "x"]


EVERYTHING = """<ReactiveSequence name="top">
<Fallback><Note name="n" status="FAILURE"/><AlwaysSuccess/></Fallback>
<SequenceWithMemory><Sleep msec="250"/></SequenceWithMemory>
<RandomSequence><AlwaysSuccess/></RandomSequence><RandomSelector><AlwaysFailure/></RandomSelector>
<Parallel success_count="1" failure_count="-1"><AlwaysSuccess/></Parallel>
<ReactiveFallback><Sequence><AlwaysSuccess/></Sequence></ReactiveFallback>
<Inverter><ForceSuccess><ForceFailure><Repeat num_cycles="3"><RetryUntilSuccessful num_attempts="2">
<KeepRunningUntilFailure><UntilFail><TickLimit limit="4"><Timeout msec="100"><Delay delay_msec="50">
<RunOnce><AlwaysSuccess/></RunOnce></Delay></Timeout></TickLimit></UntilFail>
</KeepRunningUntilFailure></RetryUntilSuccessful></Repeat></ForceFailure></ForceSuccess></Inverter>
</ReactiveSequence>"""


def test_written_tree_is_read_as_an_equal_tree():
    root = parse(EVERYTHING)
    written = write_tree(root)
    again = parse(written, whole=True)
    assert write_tree(again) == written
    for word in KNOWN:
        if word not in ("SubTree", "ParallelAll"):
            assert f"<{word}" in written, word


@pytest.mark.parametrize(
    ("xml", "says"),
    [
        (
            "<Sequence>\n<Note/>\n<Note2/></Sequence>",
            "t.xml:3: unknown node 'Note2'; did you mean 'Note'?",
        ),
        ('<Action ID="Nobody"/>', "t.xml:1: unknown node 'Nobody'"),
        ("<Sequence/>", "t.xml:1: Sequence has no children"),
        ("<Inverter><Note/><Note/></Inverter>", "Inverter has 2 children; it must have one"),
        ('<Note who="me"/>', "t.xml:1: Note: "),
        ('<Sleep msec="soon"/>', "Sleep: msec is 'soon'; it must be a whole number"),
        ("<Sleep/>", "Sleep: msec is missing"),
        ('<Sleep msec="-1"/>', "Sleep: msec is -1; it must be >= 0"),
        ('<Note status="nan"/>', "Note: status is nan; its limit is 1e+09"),
        ('<Note status="-1e300"/>', "Note: status is -1e300; its limit is 1e+09"),
        ('<Parallel succes_count="1"><Note/></Parallel>', "Parallel: the attribute 'succes_"),
        ('<Note status="{x}"/>', "Note: status is '{x}'; ports and scripts are not supported"),
        ('<SubTree ID="n"/>', "unknown tree 'n'. Known: m"),
        ('<SubTree ID="m"/>', "tree 'm'"),
        ("<Note/><Note/>", "tree 'm' has 2 root nodes"),
        ("<Note><Note/></Note>", "Note is a leaf"),
    ],
)
def test_an_invalid_element_is_rejected_with_its_line(xml, says):
    with pytest.raises(SpecError, match=re.escape(says)):
        parse(xml)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("<root", "t.xml:1: "),
        ("<tree/>", "t.xml:1: the root element is <tree>"),
        ('<root BTCPP_format="3"/>', "BTCPP_format is '3'; it must be 4"),
        ('<root BTCPP_format="4"/>', "no <BehaviorTree>"),
        (
            '<root main_tree_to_execute="x"><BehaviorTree ID="m"/></root>',
            "unknown tree 'x'. Known: m",
        ),
        (
            '<root>\n<BehaviorTree ID="helper"/><BehaviorTree ID="Main"/></root>',
            "t.xml:1: the file has the trees helper, Main, and none is the main tree; "
            'write main_tree_to_execute="ID" in <root>',
        ),
        (
            '<root>\n<include path="./more.xml"/><BehaviorTree ID="m"/></root>',
            "t.xml:2: <include> of './more.xml' is not supported",
        ),
    ],
)
def test_a_file_without_a_clear_main_tree_is_rejected(text, says):
    with pytest.raises(SpecError, match=re.escape(says)):
        parse(text, whole=True)


@pytest.mark.timeout(30)
def test_pipe_is_rejected_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe.xml")
    with pytest.raises(SpecError, match=r"pipe\.xml: cannot be read: .*not a regular file"):
        read_tree(tmp_path / "pipe.xml", {}, nodes.Clock(), np.random.default_rng(1))
