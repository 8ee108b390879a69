"""Constructs of Scenic that have no effect here are rejected by line, with a remedy that works."""

import random

import pytest

from gz_testauto.base.errors import SpecError

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("needs_scenic")]

WORKSPACE = "workspace = Workspace(RectangularRegion(0 @ 0, 0, 20, 20))\n"
CUBE = WORKSPACE + "c = new Brick at 2 @ 2, facing 0 deg\n"
LATE = "set the property where the object is created"


@pytest.fixture
def bricks(workshop):
    workshop.box("brick", "1 1 1")
    return workshop


REJECTED = (
    [
        (CUBE + "override c with color (1, 0, 0)\n", 3, LATE),
        (WORKSPACE + "c = new Brick\nx = 1\noverride c with color (1, 0, 0)\n", 4, LATE),
        ("scenario Main():\n    setup:\n        c = new Brick\n"
         "        override c with color (1, 0, 0)\n", 4, LATE),
        (CUBE + "def change(c):\n    override c with color (1, 0, 0)\nchange(c)\n", 4, LATE),
        (CUBE + "c.z = 1\n", 3, "`z` of a Brick .* `new Brick with z HEIGHT`"),
        (CUBE + "c.z += 1\n", 3, "`z` of a Brick"),
        (CUBE + "setattr(c, 'z', 1)\n", 3, "`z` of a Brick"),
        (CUBE + "c.position = 3 @ 3\n", 3, "`new Brick at X @ Y`"),
        (CUBE + "c.yaw = 1\n", 3, "`new Brick facing HEADING`"),
        (CUBE + "c.allowCollisions = True\n", 3, "`new Brick with allowCollisions VALUE`"),
        (WORKSPACE + "for i in range(2):\n    c = new Brick\n    c.width = i\n", 4, "`width` of"),
        (WORKSPACE + "class Tall(Brick):\n    def lift(self):\n        self.z = 3\n"
         "c = new Tall\nc.lift()\n", 4, "`z` of a Tall"),
        (WORKSPACE + "p = new OrientedPoint at 1 @ 1\np.position = 2 @ 2\n", 3, "`position` of"),
        (CUBE + "y = VerifaiRange(0, 1)\n", 3, "VerifAI .* use Range"),
        (CUBE + "from verifai.features import Box\n", 3, "VerifAI .* use Range"),
        (CUBE + "param p = VerifaiOptions([1, 2])\n", 3, "VerifAI .* use Range"),
        (CUBE + "model not_there\n", 3, "could not import world model not_there; modules are"),
        (CUBE + "model not_there.more\n", 3, "No module named 'not_there'; modules are searched"),
        (CUBE + "ego = new BRICK\n", 3, "name 'BRICK' is not defined; did you mean 'Brick'?"),
        (CUBE + "new Brick at 15 @ 2, facing 0 deg\n", 3, "is not within the workspace"),
        (CUBE + "require eventually c.x > 1\n", 3, "`eventually` .*; (remove it|use `record)"),
        (CUBE + "new Brick behind c by 1e400\n", 3, "position of a Brick is .*; it must"),
        (CUBE + "x = " + 2000 * "(" + "1" + 2000 * ")" + "\n", None, "is nested too deep; divide"),
        (CUBE + "scenario Sub():\n    compose:\n        wait\n", 3, "`compose` is for sequences"),
    ]
)  # fmt: skip
IN_BOTH = (LATE, "`z` of a Brick", "`eventually` .*; (remove it|use `record)")


@pytest.mark.parametrize(("text", "line", "said"), REJECTED)
def test_a_construct_without_effect_is_rejected_with_its_line(bricks, text, line, said):
    with pytest.raises(SpecError, match=said) as rejected:
        bricks.source(text).generate(0)
    assert f"test.scenic:{line or ''}" in str(rejected.value)


@pytest.mark.parametrize("said", IN_BOTH)
def test_a_construct_without_effect_is_rejected_in_a_dynamic_scenario(bricks, said):
    text, line, _ = next(case for case in REJECTED if case[2] == said)
    with pytest.raises(SpecError, match=said) as rejected:
        bricks.source(text, dynamic=True)
    assert f"test.scenic:{line}" in str(rejected.value)


@pytest.mark.parametrize(
    "text",
    [
        CUBE + "c.count = 3\nfor i in range(c.count):\n    new Brick at (3 * i) @ 6\n",
        WORKSPACE + "class Tagged(Brick):\n    tag: 1\nc = new Tagged\nc.tag = 2\n",
        CUBE + "mutate c by 0.1\n",
    ],
)
def test_attributes_of_the_program_and_of_scenic_itself_can_be_assigned(bricks, text):
    assert bricks.source(text).generate(0).objects


def test_a_mutator_of_the_program_can_change_a_drawn_object(bricks):
    text = (
        "from scenic.core.object_types import Mutator\nclass Lift(Mutator):\n"
        "    def appliedTo(self, obj):\n        obj.position = 5 @ 5\n        return obj, False\n"
        + WORKSPACE
        + "class Lifted(Brick):\n    mutator[additive]: Lift()\n"
        "c = new Lifted at 2 @ 2\nmutate c\n"
    )
    (_, made), *_ = bricks.source(text).generate(0).objects
    assert made.position.x == pytest.approx(5)


def test_scenic_is_unchanged_after_a_compilation(bricks):
    from scenic.core.object_types import Point
    from scenic.syntax import compiler, translator

    def state():
        transformer = compiler.ScenicToPythonTransformer
        return Point.__setattr__, transformer.visit, translator.preamble, translator.usePruning

    before = state()
    with pytest.raises(SpecError):
        bricks.source(CUBE + "c.z = 1\n")
    assert state() == before


def test_an_override_in_an_imported_module_is_rejected_with_its_line(bricks):
    bricks.scenario("c = new Object at 1 @ 1\noverride c with color (1, 0, 0)\n", "parts.scenic")
    with pytest.raises(SpecError, match=rf"parts\.scenic:2: .*{LATE}"):
        bricks.source(WORKSPACE + "from parts import *\n")


@pytest.mark.parametrize("where", ["not visible from ego", "in workspace, not visible from ego"])
def test_not_visible_places_an_object_outside_the_view_of_the_ego(bricks, where):
    source = bricks.source(
        WORKSPACE + f"ego = new Brick at 0 @ 0, with visibleDistance 4\nnew Brick {where}\n"
    )
    random.seed(1)
    for index in range(5):
        (_, ego), (_, other) = source.generate(index).objects
        assert not ego.canSee(other)
        assert other.position.z == pytest.approx(0.5, abs=1e-3), "it stands on the ground"


def test_a_parameter_for_verifai_is_reported_as_without_effect(bricks):
    source = bricks.source("param verifaiSamplerType = 'halton'\n" + CUBE)
    assert any(":1: `param verifaiSamplerType` has no effect" in note for note in source.notes)
