"""Results directories for gates, written as one letter per world."""

from table_results import store_table

OUTCOMES = {"1": "reached", "0": "collided", "x": "invalid"}

GOOD = "1111111110" * 10
WORSE = "0001111110" * 10
PASSES = "1" * 100


def table(first_world=0, **planners):
    """Return a CSV table of one letter per world: 1 reached, 0 failed, x invalid, . no trial."""
    lines = ["world,planner,outcome,time_s"]
    for planner, letters in planners.items():
        for world, letter in enumerate(letters, first_world):
            if letter != ".":
                time_s = 20.0 + 0.01 * world if letter == "1" else 5.0
                lines.append(f"w{world:03d},{planner},{OUTCOMES[letter]},{time_s}")
    return "\n".join(lines) + "\n"


def gate_results(folder, name, text):
    """Write a results directory ``name`` in ``folder`` from a table; return its path."""
    return str(store_table(text, folder / name))
