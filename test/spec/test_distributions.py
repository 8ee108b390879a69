import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter
from scipy import stats

from gz_testauto.spec.distributions import Distribution

ADAPTER = TypeAdapter(Distribution)
UNIT = st.floats(0, 1, exclude_max=True)
FORMS = st.one_of(
    st.floats(-50, 50),
    st.tuples(st.floats(-50, 0), st.floats(0, 50)).map(list),
    st.fixed_dictionaries(
        {
            "mean": st.floats(-2, 2),
            "stddev": st.floats(0.5, 5),
            "min": st.floats(-9, 0),
            "max": st.floats(0.1, 9),
        }
    ),
    st.fixed_dictionaries({"choice": st.lists(st.floats(-9, 9), min_size=1, max_size=5)}),
)


@given(FORMS, UNIT, UNIT)
def test_quantiles_are_in_the_support_and_monotonic(form, first, second):
    distribution = ADAPTER.validate_python(form)
    low, high = distribution.support
    a, b = (distribution.quantile(p) for p in sorted((first, second)))
    assert low <= a <= high
    assert low <= b <= high
    if not (isinstance(form, dict) and "choice" in form):
        assert a <= b


def test_truncated_normal_agrees_with_scipy():
    distribution = ADAPTER.validate_python({"mean": 1.0, "stddev": 0.5, "min": 0.5, "max": 3.0})
    reference = stats.truncnorm(-1.0, 4.0, loc=1.0, scale=0.5)
    for probability in np.linspace(0, 0.999, 20):
        assert distribution.quantile(probability) == pytest.approx(reference.ppf(probability))


def test_choice_follows_its_weights():
    distribution = ADAPTER.validate_python({"choice": [1.0, 2.0, 3.0], "weights": [1, 0, 3]})
    drawn = [distribution.quantile(p) for p in np.linspace(0, 1, 400, endpoint=False)]
    assert [drawn.count(value) for value in (1.0, 2.0, 3.0)] == [100, 0, 300]


def test_pair_of_numbers_is_a_uniform_distribution():
    distribution = ADAPTER.validate_python([2, 4])
    assert distribution.quantile(0.25) == 2.5
