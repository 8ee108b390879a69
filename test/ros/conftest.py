"""Without ROS messages, the tests of this folder are skipped, and the summary reports it."""

from without_ros import LACKING, LEFT_OUT

collect_ignore_glob = LEFT_OUT


def pytest_terminal_summary(terminalreporter):
    if LACKING:
        terminalreporter.write_line(
            f"SKIPPED test/ros and test/simulators/gazebo_ros: no {', '.join(LACKING)}; "
            "run ./bootstrap exec pytest"
        )
