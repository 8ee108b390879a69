"""These tests convert ROS messages: without them they are left out, and the summary says so."""

from without_ros import LACKING, LEFT_OUT

collect_ignore_glob = LEFT_OUT


def pytest_terminal_summary(terminalreporter):
    if LACKING:
        terminalreporter.write_line(
            f"SKIPPED test/ros and test/simulators/gazebo_ros: no {', '.join(LACKING)}; "
            "run ./bootstrap exec pytest"
        )
