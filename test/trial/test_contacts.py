from gz_testauto.base.observation import Contact
from gz_testauto.trial.contacts import ContactClassifier, EpisodeLog

CLASSIFIER = ContactClassifier("robot", ground_shapes=["meadow::link::grass", "house::link::floor"])


def contact(first, second, normal=(1.0, 0.0, 0.0), height=0.4, **extra):
    return Contact(0.0, first, second, ((1.0, 2.0, height),), (normal,), **extra)


def partner(*arguments, **extra):
    return CLASSIFIER.partner(contact(*arguments, **extra), robot_bottom_m=0.0)


def test_contact_with_a_wall_has_the_wall_as_partner_in_either_order():
    assert partner("robot::base::hull", "wall::link::c") == "wall"
    assert partner("wall::link::c", "robot::base::hull") == "wall"


def test_ground_is_identified_by_its_shape_and_not_by_its_name():
    assert partner("robot::wheel::c", "meadow::link::grass", normal=(0, 0, 1), height=0) is None
    assert partner("robot::base::hull", "ground_plane::link::c") == "ground_plane"


def test_model_whose_name_contains_colons_is_the_partner():
    models = ["room", "room::crate", "robot::crate"]
    classifier = ContactClassifier("robot", ["room::crate::l::floor"], models)

    def partner_of(shape):
        return classifier.partner(contact("robot::base::hull", shape), robot_bottom_m=0.0)

    assert partner_of("room::crate::l::c") == "room::crate"
    assert partner_of("robot::crate::l::c") == "robot::crate"
    assert partner_of("room::wall::c") == "room"
    assert partner_of("room::crate::l::floor") is None


def test_floor_of_a_house_is_ground_and_its_walls_are_obstacles():
    assert partner("robot::wheel::c", "house::link::floor") is None
    assert partner("robot::base::hull", "house::link::wall") == "house"


def test_contact_below_the_robot_is_not_a_collision_but_a_side_contact_is():
    assert partner("robot::wheel::c", "sheet::link::c", normal=(0, 0, 1), height=0.01) is None
    assert partner("robot::wheel::c", "sheet::link::c", normal=(1, 0, 0), height=0.01) == "sheet"
    assert partner("robot::base::hull", "lamp::link::c", normal=(0, 0, -1), height=1.2) == "lamp"


def test_contact_with_one_point_on_a_steep_surface_is_a_collision():
    mixed = Contact(
        0.0,
        "robot::wheel::c",
        "kerb::link::c",
        ((0, 0, 0.0), (0, 0, 0.04)),
        ((0, 0, 1), (0.8, 0, 0.6)),
    )
    assert CLASSIFIER.partner(mixed, robot_bottom_m=0.0) == "kerb"


def test_contacts_within_the_robot_or_between_obstacles_are_ignored():
    assert partner("robot::base::hull", "robot::arm::c") is None
    assert partner("wall::link::c", "obstacle_box_1::link::c") is None


def test_model_whose_name_contains_the_name_of_the_robot_is_an_obstacle():
    assert partner("robot::base::hull", "robot_charger::link::c") == "robot_charger"
    assert partner("robot_charger::link::c", "wall::link::c") is None
    assert partner("my_robot::link::c", "robot::base::hull") == "my_robot"


def test_contact_without_points_is_a_collision():
    assert CLASSIFIER.partner(Contact(0.0, "robot::a::b", "wall::c::d"), 0.0) == "wall"


def test_contacts_with_a_gap_above_half_a_second_are_two_episodes():
    log = EpisodeLog()
    for time_s in (1.0, 1.4, 1.9, 2.5):
        log.touch(time_s, "box", 0.7 if time_s == 1.0 else 0.1, "contact")
    assert [(e.start_s, e.end_s, e.speed_mps) for e in log.episodes] == [
        (1.0, 1.9, 0.7),
        (2.5, 2.5, 0.1),
    ]
    assert log.first is log.episodes[0]


def test_contacts_with_two_models_are_two_episodes():
    log = EpisodeLog()
    log.touch(1.0, "box", 0.5, "contact")
    log.touch(1.0, "wall", 0.5, "contact")
    log.touch(1.1, "box", 0.5, "geometry")
    assert [(e.partner, e.end_s, e.source) for e in log.episodes] == [
        ("box", 1.1, "contact"),
        ("wall", 1.0, "contact"),
    ]


def test_contact_log_without_contacts_has_no_episodes():
    assert EpisodeLog().first is None
    assert EpisodeLog().episodes == ()
