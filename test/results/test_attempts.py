"""Which attempts are repeated, and how often."""

import pytest

from gz_testauto.base.errors import NavigatorError, SceneError, SimulatorError
from gz_testauto.results.attempts import run_attempts


def attempts(*ends, limit=2):
    """Run attempts with these ends; returns the result and what `failed` was called with."""
    left, calls = list(ends), []

    def attempt():
        end = left.pop(0)
        if isinstance(end, Exception):
            raise end
        return end

    result = None
    try:
        result = run_attempts(attempt, lambda *call: calls.append(call), limit)
    except (SimulatorError, NavigatorError) as error:
        result = error
    return result, calls


def test_an_invalid_attempt_is_repeated_up_to_the_limit():
    first, second = SimulatorError("a"), NavigatorError("b")
    assert attempts(7) == (7, [])
    assert attempts(first, 7) == (7, [(first, True)])
    assert attempts(first, second, 7) == (second, [(first, True), (second, False)])
    assert attempts(first, second, 7, limit=3) == (7, [(first, True), (second, True)])


def test_an_attempt_that_would_end_the_same_is_not_repeated():
    fault = SceneError("crate_1 flew 12 m")
    assert attempts(fault, 7, limit=3) == (fault, [(fault, False)])


def test_another_exception_is_no_attempt():
    with pytest.raises(ZeroDivisionError):
        attempts(ZeroDivisionError(), 7)
