from gz_testauto.base.observation import Contact
from gz_testauto.trial.contacts import ContactSorter, EpisodeLog

SORTER = ContactSorter("robot", ground_shapes=["meadow::link::grass", "house::link::floor"])


def contact(first, second, normal=(1.0, 0.0, 0.0), height=0.4, **extra):
    return Contact(0.0, first, second, ((1.0, 2.0, height),), (normal,), **extra)


def partner(*arguments, **extra):
    return SORTER.partner(contact(*arguments, **extra), robot_bottom_m=0.0)


def test_a_wall_is_a_partner_whichever_side_comes_first():
    assert partner("robot::base::hull", "wall::link::c") == "wall"
    assert partner("wall::link::c", "robot::base::hull") == "wall"


def test_the_ground_is_known_by_its_shape_and_not_by_its_name():
    assert partner("robot::wheel::c", "meadow::link::grass", normal=(0, 0, 1), height=0) is None
    assert partner("robot::base::hull", "ground_plane::link::c") == "ground_plane"


def test_a_house_is_ground_where_its_floor_is_and_an_obstacle_where_its_walls_are():
    assert partner("robot::wheel::c", "house::link::floor") is None
    assert partner("robot::base::hull", "house::link::wall") == "house"


def test_standing_on_an_unknown_model_is_no_collision_but_bumping_into_it_is():
    assert partner("robot::wheel::c", "sheet::link::c", normal=(0, 0, 1), height=0.01) is None
    assert partner("robot::wheel::c", "sheet::link::c", normal=(1, 0, 0), height=0.01) == "sheet"
    assert partner("robot::base::hull", "lamp::link::c", normal=(0, 0, -1), height=1.2) == "lamp"


def test_one_point_that_is_not_standing_makes_it_a_collision():
    mixed = Contact(
        0.0,
        "robot::wheel::c",
        "kerb::link::c",
        ((0, 0, 0.0), (0, 0, 0.04)),
        ((0, 0, 1), (0.8, 0, 0.6)),
    )
    assert SORTER.partner(mixed, robot_bottom_m=0.0) == "kerb"


def test_the_robot_touching_itself_or_others_touching_each_other_is_nothing():
    assert partner("robot::base::hull", "robot::arm::c") is None
    assert partner("wall::link::c", "obstacle_box_1::link::c") is None


def test_a_model_whose_name_holds_the_robots_is_not_the_robot():
    assert partner("robot::base::hull", "robot_charger::link::c") == "robot_charger"
    assert partner("robot_charger::link::c", "wall::link::c") is None
    assert partner("my_robot::link::c", "robot::base::hull") == "my_robot"


def test_a_contact_without_points_is_a_collision():
    assert SORTER.partner(Contact(0.0, "robot::a::b", "wall::c::d"), 0.0) == "wall"


def test_a_gap_of_over_half_a_second_makes_two_episodes():
    log = EpisodeLog()
    for time_s in (1.0, 1.4, 1.9, 2.5):
        log.touch(time_s, "box", 0.7 if time_s == 1.0 else 0.1, "contact")
    assert [(e.start_s, e.end_s, e.speed_mps) for e in log.episodes] == [
        (1.0, 1.9, 0.7),
        (2.5, 2.5, 0.1),
    ]
    assert log.first is log.episodes[0]


def test_two_partners_are_two_episodes_and_two_sources_are_one():
    log = EpisodeLog()
    log.touch(1.0, "box", 0.5, "contact")
    log.touch(1.0, "wall", 0.5, "contact")
    log.touch(1.1, "box", 0.5, "geometry")
    assert [(e.partner, e.end_s, e.source) for e in log.episodes] == [
        ("box", 1.1, "contact"),
        ("wall", 1.0, "contact"),
    ]


def test_nothing_touched_is_nothing():
    assert EpisodeLog().first is None
    assert EpisodeLog().episodes == ()
