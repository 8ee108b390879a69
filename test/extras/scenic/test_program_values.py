"""Values and exceptions of a Scenic program are reported with their file and line."""

import pytest

from gz_testauto.base.errors import SpecError

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("needs_scenic")]

HEAD = "workspace = Workspace(RectangularRegion(0 @ 0, 0, 20, 20))\n"


@pytest.fixture
def bricks(workshop):
    workshop.box("brick", "1 1 1")
    return workshop


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("new Brick at 2 @ 2, with width -1", "width of a Brick is -1; it must be"),
        ("new Brick at 2 @ 2, with length 0", "length of a Brick is 0; it must be"),
        ("new Brick at 2 @ 2, with width Range(-2, -1)", "width of a Brick is -1.* greater than 0"),
        ("new Brick at 2 @ 2, with height 1e400", "height of a Brick is inf; it must be"),
        ("new Brick at 2 @ 2, with width float('nan')", "width of a Brick is nan; it must be"),
        ("create_room(-1, 5)", "length of a GreyWall is -1.3; it must be"),
        ("ego = new Brick at 10**400 @ 0", r"position of a Brick is \(inf, 0, 0\); it must"),
        ("new Brick at Uniform(1e400) @ 0", r"position of a Brick is \(inf, 0, .*\); it must"),
        ("new Brick with yaw 1e400", "yaw of a Brick is inf; it must be a finite number"),
        ("new Brick with yaw Range(0, 1e400)", "yaw, pitch or roll is inf; it must be a finite"),
        ("new OrientedPoint with yaw 1e400", "yaw, pitch or roll is inf; it must be a finite"),
        ("new Brick with parentOrientation 1e400", "parentOrientation of a Brick is not finite"),
        ("new Brick with regionContainedIn 5", "regionContainedIn of a Brick is 5; it must be a"),
        ("new Brick with color Uniform(5, 6)", "color of a Brick is [56]; it must be 3 or 4"),
        ("new Brick with color (Range(3, 4), 0, 0)", r"color of a Brick is \(3.*; it must be 3 or"),
        ("new Brick with gz_model 5", "gz_model of a Brick is 5; it must be the name"),
        ("new Brick at (1 / Uniform(0, 0.0)) @ 0", "ZeroDivisionError"),
        ("assert False", "AssertionError$"),
        ("raise ValueError('first\\nsecond')", "ValueError: first second"),
        ("exit(0)", r"the program calls sys.exit\(0\); remove the call"),
    ],
)
@pytest.mark.timeout(60)
@pytest.mark.parametrize("keep", [False, True])
def test_an_invalid_value_is_reported_with_its_line(bricks, statement, message, keep):
    with pytest.raises(SpecError, match=message) as rejected:
        bricks.source(HEAD + statement + "\n", keep=keep).generate(0)
    assert "test.scenic:2: " in str(rejected.value)


@pytest.mark.timeout(60)
def test_the_sampling_of_a_large_angle_ends(bricks):
    ((_, brick),) = (
        bricks.source(HEAD + "new Brick with yaw Range(1e20, 2e20)\n").generate(0).objects
    )
    assert -3.1416 < brick.yaw < 3.1416


@pytest.mark.parametrize("raised", [KeyboardInterrupt, BrokenPipeError])
@pytest.mark.parametrize("keep", [False, True])
def test_an_exception_of_the_progress_report_is_unchanged(bricks, raised, keep):
    def report(draws, limit):
        raise raised

    with pytest.raises(raised):
        bricks.source(HEAD + "new Brick\n", keep=keep).generate(0, report)


def test_an_interruption_of_the_program_is_unchanged(bricks):
    with pytest.raises(KeyboardInterrupt):
        bricks.source(HEAD + "raise KeyboardInterrupt\n")
