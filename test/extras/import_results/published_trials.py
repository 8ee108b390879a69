"""A public result set: 50 worlds, 10 trials of one planner in each.

How many of ten trials of the DWA planner reached the goal, in each of the 50 test worlds of the
BARN challenge: ``res/dwa_out.txt`` of github.com/Daffan/the-barn-challenge, worlds 0, 6, ... 294.
"""

REACHED_OF_TEN = tuple(
    int(count, 11) for count in "8AAAAAAA9AAAAAAAA9A897AAAAAAA8A98979482A96A506618A"
)
"""``A`` is ten."""


def trials_csv(reached=REACHED_OF_TEN, repetitions=10, planner="dwa"):
    """Return trials as a table of world, planner and 0 or 1, first those that reached the goal."""
    lines = ["world,planner,outcome"]
    for world, count in enumerate(reached):
        lines += [f"{6 * world},{planner},{int(trial < count)}" for trial in range(repetitions)]
    return "\n".join(lines) + "\n"
