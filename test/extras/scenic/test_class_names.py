import keyword

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gz_testauto.extras.scenic.descriptor import class_name


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("cafe_table", "CafeTable"),
        ("LampAndStand", "Lampandstand"),  # as GzScenic has it
        ("turtlebot3", "Turtlebot3"),
        ("demo_cube", "DemoCube"),
        ("Café table", "CafeTable"),
        ("1st floor", "Model1StFloor"),
        ("object", "ObjectModel"),
        ("none", "NoneModel"),
        ("---", "Model"),
        ("grey_wall", "GreyWall"),
        ("stand", "StandModel"),
    ],
)
def test_a_class_name_is_derived_from_the_model_name(model, name):
    assert class_name(model) == name


@pytest.mark.slow
@given(st.text(min_size=1, max_size=40))
def test_any_model_name_gives_a_valid_class_name(model):
    name = class_name(model)
    assert name.isidentifier()
    assert not keyword.iskeyword(name)
