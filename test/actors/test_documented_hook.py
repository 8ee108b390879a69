"""The script with a hook and effects in docs/behaviors.md runs and has the stated result."""

import re
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]


def test_documented_hook_makes_the_crate_blink_while_the_robot_is_near(monkeypatch, capsys):
    page = (CHECKOUT / "docs" / "behaviors.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(CHECKOUT)
    exec(next(block for block in blocks if "class Warn(Hook)" in block), {"__name__": "example"})
    lines = capsys.readouterr().out.splitlines()
    assert lines[:21] == [f"{period / 10:.1f} s not red" for period in range(1, 22)]
    interval = ["red", "red", "not red", "not red"]
    assert [line.split(" s ")[1] for line in lines[21:]] == (interval * 5)[:19]
