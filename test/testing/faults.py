"""Tests that a conformance suite rejects wrong implementations.

A :class:`Fault` is one wrong implementation with a name, and the test of the suite that must fail
for it. :func:`rejections` creates one test class for each fault, which runs this test, and one test
class for the correct implementation, which must pass the whole suite. A suite has at least
:data:`LEAST_FAULTS` faults, and each of its tests rejects at least one of them.
"""

import functools
import inspect
import re
from dataclasses import dataclass, field
from typing import Any, Mapping, Tuple, Type

import pytest

LEAST_FAULTS = 10


@dataclass(frozen=True)
class Fault:
    """A wrong implementation that breaks one rule. ``message`` is a pattern for the message of the
    failing test, ``of`` has the attributes of the suite that create the implementation, ``cases``
    are values of a parametrized test, and ``raises`` are further exceptions that count as a
    rejection."""

    name: str
    test: str
    message: str
    of: Mapping[str, Any]
    cases: Mapping[str, Any] = field(default_factory=dict)
    raises: Tuple[Type[BaseException], ...] = ()


def rejections(suite, reference, faults):
    """Return the test classes by name. ``reference`` has the attributes of the suite that create
    the correct implementation."""
    names = [fault.name for fault in faults]
    assert len(set(names)) == len(names), f"two faults have the same name: {names}"
    assert len(faults) >= LEAST_FAULTS, f"{suite.__name__} has {len(faults)} faults"
    idle = {test for test in dir(suite) if test.startswith("test_")} - {f.test for f in faults}
    assert not idle, f"these tests of {suite.__name__} reject no fault: {sorted(idle)}"
    classes = {}
    for fault in faults:
        name = "TestRejects" + "".join(word.capitalize() for word in re.split(r"\W+", fault.name))
        classes[name] = _subclass(name, suite, {fault.test: _rejected(suite, fault)}, fault.of)
        classes[name].pytestmark = [pytest.mark.slow]  # for changes of a suite
    name = f"TestAcceptsTheReferenceOf{suite.__name__}"
    classes[name] = type(name, (suite,), {**reference, "pytestmark": [pytest.mark.slow]})
    return classes


def _subclass(name, suite, tests, attributes):
    """Return a subclass of the suite that contains only these tests."""
    others = {test: None for test in dir(suite) if test.startswith("test_") and test not in tests}
    return type(name, (suite,), {**others, **tests, **attributes})


def _rejected(suite, fault):
    """Return the inverted test, which passes if the test of the suite fails because of the
    fault."""
    original = getattr(suite, fault.test)
    expected = (AssertionError, pytest.fail.Exception, *fault.raises)

    @functools.wraps(original)
    def check(*args, **kwargs):
        try:
            original(*args, **kwargs, **fault.cases)
        except expected as error:
            reported = f"{type(error).__name__}: {error}"
            assert re.search(fault.message, reported, re.DOTALL), (
                f"fails for another reason: {reported}"
            )
        except pytest.skip.Exception as skipped:
            pytest.fail(f"the suite skips the test of {fault.name!r}: {skipped}")
        else:
            pytest.fail(f"the suite accepts {fault.name!r}")

    signature = inspect.signature(original)
    left = [one for one in signature.parameters.values() if one.name not in fault.cases]
    check.__signature__ = signature.replace(parameters=left)
    if fault.cases:
        check.pytestmark = []  # its parametrization
    return check
