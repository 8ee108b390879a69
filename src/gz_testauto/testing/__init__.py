"""Conformance suites for authors of planners, simulators, executors and workers."""

import sys
from pathlib import Path

if "pytest" in sys.modules:  # pytest shows the values of failed assertions in the suites
    modules = (f"{__name__}.{path.stem}" for path in Path(__file__).parent.glob("*.py"))
    sys.modules["pytest"].register_assert_rewrite(*modules)
