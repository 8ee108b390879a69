from gz_testauto.ros.simulator.clock import SceneClock


def test_ros_time_increases_from_scene_to_scene():
    clock = SceneClock()
    told = []
    for _ in range(3):
        clock.begin_scene()
        told += [clock.nanoseconds(0.1 * period) for period in range(5)]
    assert told == sorted(told)
    assert len(set(told)) == len(told)


def test_within_a_scene_ros_time_differs_from_scene_time_by_a_constant_to_the_nanosecond():
    clock = SceneClock()
    clock.begin_scene()
    clock.nanoseconds(12.3)
    clock.begin_scene()
    assert [clock.nanoseconds(t) - clock.origin_ns for t in (0.0, 0.1, 0.30000000000000004)] == [
        0,
        100_000_000,
        300_000_000,
    ]


def test_restart_sets_ros_time_to_zero():
    clock = SceneClock()
    clock.begin_scene()
    clock.nanoseconds(5.0)
    clock.restart(5.0)
    assert clock.nanoseconds(5.0) == 0
    assert clock.nanoseconds(5.1) == 100_000_000


def test_an_older_stamp_does_not_change_the_start_of_the_next_scene():
    clock = SceneClock()
    clock.begin_scene()
    latest = clock.nanoseconds(2.0)
    clock.nanoseconds(1.9)
    clock.begin_scene()
    assert clock.origin_ns > latest
