"""A specification in a service call: a name, a path, or YAML text."""

import pytest

pytest.importorskip("rospy")

from gz_testauto.base.errors import SpecError
from gz_testauto.ros.obstacles.spec_argument import label_of, read_spec

INLINE = "region: {circle: {x_m: 0, y_m: 0, radius_m: 3}}\nobstacles: [{type: box, count: 2}]\n"


def test_yaml_text_is_read_as_a_specification_named_inline():
    assert read_spec(INLINE).obstacles[0].count.max == 2
    assert label_of(INLINE) == "inline"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            INLINE.replace("radius_m: 3", "radius_m: -3"),
            "inline:1: region.circle.radius_m is -3",
        ),
        (INLINE.replace("count: 2", "count: many"), "inline:2: obstacles[0].count is"),
        ("region: [", "inline:1"),
    ],
)
def test_errors_in_yaml_text_have_the_name_inline_and_a_line(text, complaint):
    with pytest.raises(SpecError) as said:
        read_spec(text)
    assert str(said.value).startswith(complaint)


def test_unknown_name_is_rejected_with_the_existing_names():
    with pytest.raises(SpecError, match=r"is neither a name nor a file; .*obstacles"):
        read_spec("no_such_thing")
    assert read_spec("obstacles").obstacles
