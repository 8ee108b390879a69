"""Conformance suites for authors of planners, simulators, executors and workers."""

import sys

if "pytest" in sys.modules:  # pytest shows the values of failed assertions in the suites
    sys.modules["pytest"].register_assert_rewrite(
        *(
            f"{__name__}.{suite}"
            for suite in (
                "changes_conformance",
                "executor_conformance",
                "planner_conformance",
                "planner_drive",
                "sensors_conformance",
                "several_robots_conformance",
                "simulator_conformance",
                "simulator_sensing",
                "workers_conformance",
            )
        )
    )
