"""How tables and numbers look on a terminal."""

import math

from rich.table import Table


def plain_table(*headings: str) -> Table:
    """An empty table without lines, its first column to the left and the others to the right."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for index, heading in enumerate(headings):
        first = index == 0
        table.add_column(
            heading, justify="left" if first else "right", overflow="fold", no_wrap=not first
        )
    return table


def number_text(value: float, decimals: int, sign: str = "") -> str:
    """A number as a reader takes it in: a dash for none, a sign for infinity."""
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value:{sign}.{decimals}f}"
