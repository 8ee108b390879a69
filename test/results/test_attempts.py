"""Repeated attempts and their limits."""

from types import SimpleNamespace

import pytest
from scripted import record
from trial_values import trial_value

from gz_testauto.base.errors import (
    ConfigurationError,
    LostTrialsError,
    NavigatorError,
    SceneError,
    SceneRejectedError,
    SimulatorError,
)
from gz_testauto.results.attempts import Attempts, run_attempts
from gz_testauto.results.records import AttemptRecord, CampaignResults
from gz_testauto.trial.outcome import Outcome
from gz_testauto.workers.interface import Attempt


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


@pytest.mark.parametrize("kind", [SceneError, SceneRejectedError, ConfigurationError])
def test_an_attempt_with_an_error_that_recurs_is_not_repeated(kind):
    fault = kind("crate_1 flew 12 m")
    assert attempts(fault, 7, limit=3) == (fault, [(fault, False)])


def test_an_unexpected_exception_is_raised_without_another_attempt():
    with pytest.raises(ZeroDivisionError):
        attempts(ZeroDivisionError(), 7)


class Store:
    """Results in memory."""

    def __init__(self, *trials, invalid=(), deaths=(), limits=(2, 3)):
        self._results = CampaignResults("c", (), (), 9, trials, invalid, deaths)
        self._limits = dict(zip(("max_attempts", "max_worker_deaths"), limits))
        self.reopened = None
        self.stored = []

    def results(self):
        return self._results

    def retry_limits(self):
        return self._limits

    def reopen(self, trials, **limits):
        self.reopened = (trials, limits)

    def add_worker_death(self, attempt):
        self.stored.append(("death", attempt))

    def add_invalid_attempt(self, attempt):
        self.stored.append(("invalid", attempt))


def attempt(trial, number, cause="died at 3 s"):
    return AttemptRecord(trial, number, cause, 1.0, "2024-01-01T00:00:00+00:00")


def attempts_of(store, most=2, deaths=3, **options):
    return Attempts(store, SimpleNamespace(max_attempts=most, max_worker_deaths=deaths), **options)


def trial(index):
    return trial_value(index, f"w{index}", index)


VALID = record(0, outcome=Outcome.REACHED)
GIVEN_UP = record(1, outcome=Outcome.INVALID)
TWO = (attempt(1, 1), attempt(1, 2, "died at 4 s"))


def test_a_trial_reaches_its_limit_of_invalid_attempts_or_worker_deaths():
    store = Store(VALID)
    found = attempts_of(store)
    for number in (1, 2):
        assert not found.has_reached_limit(5)
        found.record_failure(attempt(5, number, f"cause {number}"), worker_died=False)
    assert found.has_reached_limit(5)
    assert (found.count(5), found.last_cause(5)) == (2, "cause 2")
    for number in (1, 2, 3, 4):
        found.record_failure(attempt(6, number), worker_died=True)
        assert found.has_reached_limit(6) == (number >= 3)
    assert [kind for kind, _ in store.stored] == ["invalid"] * 2 + ["death"] * 4
    assert found.count(7) == 0


def test_the_last_cause_is_that_of_the_latest_attempt_of_either_kind():
    found = attempts_of(Store(VALID), most=9)
    found.record_failure(attempt(5, 1, "first"), worker_died=True)
    found.record_failure(attempt(5, 3, "third"), worker_died=True)
    found.record_failure(attempt(5, 2, "second"), worker_died=False)
    assert found.last_cause(5) == "third"
    assert found.count(5) == 3


def test_valid_and_abandoned_trials_do_not_remain():
    found = attempts_of(Store(VALID, GIVEN_UP, invalid=TWO))
    assert [one.index for one in found.remaining([trial(0), trial(1), trial(2)])] == [2]
    assert found.has_valid_trial
    assert (found.count(1), found.has_reached_limit(1)) == (2, True)


@pytest.mark.parametrize("options", [{"retry_invalid": True}, {}])
def test_abandoned_trials_start_again_on_request_or_while_no_trial_is_valid(options):
    trials = (VALID, GIVEN_UP) if options else (GIVEN_UP,)
    found = attempts_of(Store(*trials, invalid=TWO), **options)
    assert [one.index for one in found.remaining([trial(1), trial(2)])] == [1, 2]
    assert not found.has_reached_limit(1)
    assert found.count(1) == 2


@pytest.mark.parametrize(
    ("most", "deaths", "reopened"), [(3, 3, {1}), (2, 4, set()), (1, 3, set()), (2, 3, None)]
)
def test_raised_limits_reopen_the_trials_that_are_below_them(most, deaths, reopened):
    store = Store(VALID, GIVEN_UP, invalid=TWO)
    found = attempts_of(store, most, deaths)
    limits = {"max_attempts": most, "max_worker_deaths": deaths}
    assert store.reopened == (None if reopened is None else (reopened, limits))
    assert [one.index for one in found.remaining([trial(1)])] == sorted(reopened or ())


def test_a_store_without_limits_stores_them_and_reopens_no_trial():
    store = Store(VALID, GIVEN_UP, invalid=TWO, limits=(None, None))
    attempts_of(store, 3, 3)
    assert store.reopened[0] == set()


def test_a_campaign_is_hopeless_if_one_trial_fails_with_one_cause_and_none_is_valid():
    found = attempts_of(Store())
    for one in TWO:
        found.record_failure(one, worker_died=False)
    found.raise_if_hopeless()
    found.abandon(trial(1), scene_at_fault=True)
    assert not found.is_hopeless
    found.abandon(trial(1))
    assert found.is_hopeless
    with pytest.raises(LostTrialsError, match=r"2 attempts at w1 fgm .*: died at 4 s"):
        found.raise_if_hopeless()
    found.record_success(3)
    assert not found.is_hopeless
    found.raise_if_hopeless()


def test_a_trial_with_two_causes_does_not_make_the_campaign_hopeless():
    found = attempts_of(Store())
    for number, cause in ((1, "died at 3 s"), (2, "no answer")):
        found.record_failure(attempt(1, number, cause), worker_died=False)
    found.abandon(trial(1))
    assert not found.is_hopeless


@pytest.mark.parametrize(
    ("error", "recurs", "scene_at_fault"),
    [
        (SceneError("the robot fell"), True, True),
        (ConfigurationError("no message on /scan"), True, False),
        (NavigatorError("no path"), False, False),
        (SimulatorError("stalled"), False, False),
    ],
)
def test_errors_of_scene_and_configuration_recur(error, recurs, scene_at_fault):
    attempt = Attempt.invalid(trial(1), 1.0, error)
    assert (attempt.repeatable, attempt.scene_at_fault) == (recurs, scene_at_fault)


def test_one_attempt_is_named_in_the_singular():
    found = attempts_of(Store())
    found.record_failure(TWO[0], worker_died=False)
    found.abandon(trial(1))
    with pytest.raises(LostTrialsError, match="the attempt at w1 fgm was invalid"):
        found.raise_if_hopeless()
