"""Rewards and the end of an episode follow what an outcome declares."""

import pytest

from gz_testauto.extras.learning.terms import Collided, GivenUp, Reached, Transition

TERMS = (Reached, Collided, GivenUp)


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({"success": True}, [1.0, 0.0, 0.0]),
        ({"crash": True}, [0.0, 1.0, 0.0]),
        ({"terminal": False}, [0.0, 0.0, 1.0]),
        ({}, [0.0, 0.0, 0.0]),
    ],
)
def test_an_added_outcome_is_rewarded_by_its_declaration(declare_outcome, properties, expected):
    transition = Transition(None, None, None, 0.1, declare_outcome(**properties))
    assert [term().value(transition) for term in TERMS] == expected
