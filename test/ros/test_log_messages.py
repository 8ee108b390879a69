"""Error messages are extracted from logs of roslaunch, whose texts are those of real runs."""

import pytest

from gz_testauto.ros.log_messages import error_messages, readable, signature, unusual

PREAMBLE = """\
... logging to /var/log/ros/1/roslaunch-vm-1.log
Checking log directory for disk usage. This may take a while.
Press Ctrl-C to interrupt
Done checking log file disk usage. Usage is <1GB.

"""
FAILED_COMMAND = (
    PREAMBLE
    + """\
bash: -c: line 1: unexpected end of the command
RLException: while processing /ws/description.launch:
Invalid <param> tag: Cannot load command parameter [robot_description]: command [['bash', '-c', \
'{long}']] returned with code [2].

Param xml is <param command="bash"/>
The traceback for the exception was written to the log file
"""
)
MISSING_PACKAGE = (
    PREAMBLE
    + """\
error: resource not found: sick_tim
ROS path [0]=/usr/share/ros
when processing file: /ws/robot.urdf.xacro
RLException: while processing /ws/description.launch:
Invalid <param> tag: Cannot load command parameter [robot_description]: command [['xacro']] \
returned with code [2].
"""
)
FAILED_SHUTDOWN = (
    PREAMBLE
    + """\
Traceback (most recent call last):
  File "roslaunch/__init__.py", line 322, in main
    p.start()
catkin_pkg.package.InvalidPackage: Error(s) in package '/ws/src/x/package.xml':
Invalid email "nobody" for person "me"

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "roslaunch/pmon.py", line 80, in _shutdown_monitor
    if p.isAlive():
AttributeError: 'ProcessMonitor' object has no attribute 'isAlive'
"""
)


def test_exception_contains_its_following_lines_and_the_output_of_its_command():
    (message,) = error_messages(FAILED_COMMAND.format(long="a"))
    parts = [
        "bash: -c: line 1: unexpected end of the command",
        "RLException: while processing /ws/description.launch:",
        "Cannot load command parameter [robot_description]",
        "returned with code [2].",
    ]
    positions = [message.index(part) for part in parts]
    assert positions == sorted(positions)
    assert "Press Ctrl-C" not in message and "Param xml" not in message


def test_long_command_is_shortened_in_its_middle():
    (message,) = error_messages(FAILED_COMMAND.format(long="a" * 1000))
    assert len(message) <= 400
    assert message.startswith("bash: -c: line 1: unexpected end")
    assert message.endswith("returned with code [2].")


def test_error_in_lower_case_is_the_first_message():
    first, second = error_messages(MISSING_PACKAGE)
    assert first == "error: resource not found: sick_tim"
    assert second.startswith("ROS path [0]") and "description.launch" in second


def test_exception_during_the_shutdown_is_not_a_cause():
    (message,) = error_messages(FAILED_SHUTDOWN)
    assert message.startswith("catkin_pkg.package.InvalidPackage: ")
    assert 'Invalid email "nobody"' in message


def test_exception_after_a_handled_one_is_returned():
    later = "Traceback (most recent call last):\n  File\nValueError: later\n"
    assert [text.split(":")[0] for text in error_messages(FAILED_SHUTDOWN + later)] == [
        "catkin_pkg.package.InvalidPackage", "ValueError"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "is_error"),
    [
        ("[ERROR] [1700000000.1, 3.2]: the map has no cells", True),
        ("[FATAL] [1700000000.1]: no map", True),
        ("[Err] [REST.cc:205] Error in REST request", True),
        ("  what():  boost: no such file", True),
        ("xacro: error: no such macro", True),
        ("bash: -c: line 1: syntax error near unexpected token `done'", True),
        ("[ INFO] [1700000000.1]: error: 0.3 m", False),
        ("[ WARN] [1700000000.1]: ERROR in the map", False),
        ("the error is small", False),
    ],
)
def test_line_is_an_error_by_its_level_or_its_start(line, is_error):
    assert error_messages(f"a line\n{line}\n") == [line.strip()] * is_error


def test_repeated_messages_differ_only_in_numbers_and_are_returned_once():
    log = "[ERROR] [1.5, 2.0]: No p gain for pid 1\n[ERROR] [7.5, 3.0]: No p gain for pid 2\n"
    assert error_messages(log) == ["[ERROR] [1.5, 2.0]: No p gain for pid 1"]


def test_messages_of_a_successful_start_are_not_unusual():
    usual = {signature("[ERROR] [1.5, 2.0]: No p gain for pid 1")}
    messages = ["[ERROR] [9.0, 1.0]: No p gain for pid 3", "[ERROR] [9.0, 1.0]: no map"]
    assert unusual(messages, usual) == messages[1:]


def test_escape_sequences_are_removed():
    assert (
        readable(b"\x1b[31mRLException: a\x1b[0m \x1b]2;title\x07\xff") == "RLException: a \ufffd"
    )
