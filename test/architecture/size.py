"""Print the sizes of checkouts: lines, words of docstrings, vague names, verbs and options.

    ./bootstrap exec python3 test/architecture/size.py               # this checkout
    git worktree add ../before HEAD~20
    ./bootstrap exec python3 test/architecture/size.py ../before .   # before and after

Code is counted without blank lines, comments, docstrings and imports. The words of docstrings are
given per 100 lines of code, the vague names per 1,000 bound names. An option counts once for each
verb.
"""

import argparse
import ast
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

from source_trees import walk

VAGUE = {"one", "found", "own", "others", "rest", "given", "taken"}
COLUMNS = ("lines", "code", "words", "vague")


def is_docstring(node):
    return isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str)


def bound_names(nodes):
    """Return the names of all parameters and of all variables that are assigned."""
    names = [
        node.arg if isinstance(node, ast.arg) else node.id
        for node in nodes
        if isinstance(node, ast.arg)
        or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    ]
    return [name.lstrip("_") for name in names if name not in ("self", "cls")]


def measures(path):
    """Return the counts of one module."""
    text = path.read_text(encoding="utf-8")
    lines, nodes = text.splitlines(), list(walk(ast.parse(text)))
    omitted = {n for n, line in enumerate(lines, 1) if not line.partition("#")[0].strip()}
    words = 0
    for node in nodes:
        if is_docstring(node):
            words += len(node.value.value.split())
        if is_docstring(node) or isinstance(node, (ast.Import, ast.ImportFrom)):
            omitted.update(range(node.lineno, node.end_lineno + 1))
    names = bound_names(nodes)
    return Counter(
        lines=len(lines),
        code=len(lines) - len(omitted),
        words=words,
        names=len(names),
        vague=sum(name in VAGUE for name in names),
    )


def package_measures(source):
    """Return the counts of each package, of each extra, of the core and of the whole source."""
    counts = defaultdict(Counter)
    for path in sorted(source.rglob("*.py")):
        folders = path.relative_to(source).parts[:-1]
        is_extra = folders[:1] == ("extras",)
        group = "/".join(folders[: 1 + is_extra]) or "."
        measured_module = measures(path)
        for name in (group, "ALL EXTRAS" if is_extra else "CORE", "TOTAL"):
            counts[name] += measured_module
    return counts


def options(parser):
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    names = {action.dest for action in parser._actions if action.option_strings}
    commands = [command for action in below for command in action.choices.values()]
    return len(names - {"help", "version"}) + sum(map(options, commands))


def sizes(checkout):
    """Return the table of a checkout, whose package is imported, as rows of printed numbers."""
    from gz_testauto.cli.completion import parser_of_all_verbs
    from gz_testauto.cli.main import VERBS

    rows = {
        name: [
            str(count["lines"]),
            str(count["code"]),
            f"{100 * count['words'] / max(count['code'], 1):.0f}",
            f"{1000 * count['vague'] / max(count['names'], 1):.1f}",
        ]
        for name, count in package_measures(checkout / "src" / "gz_testauto").items()
    }
    for folder in ("benchmarks", "test"):
        files = list((checkout / folder).rglob("*.py"))
        lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
        rows[f"{folder}/"] = [str(lines), "", "", ""]
    words = {"docs/ by hand": 0, "docs/measurements/": 0, "docs/reference/": 0}
    for page in (checkout / "docs").rglob("*.md"):
        folder = f"docs/{page.parent.name}/"
        count = len(page.read_text(encoding="utf-8").split())
        words[folder if folder in words else "docs/ by hand"] += count
    for folder, count in words.items():
        rows[f"words in {folder}"] = [str(count), "", "", ""]
    rows["verbs"] = [str(len(VERBS.names())), "", "", ""]
    rows["options"] = [str(options(parser_of_all_verbs({}))), "", "", ""]
    return rows


def measured(checkout):
    """Return the sizes of a checkout from a process that imports it."""
    root = Path(checkout).resolve()
    if not (root / "src").is_dir():
        sys.exit(f"{checkout}: the folder is no checkout; use git worktree add for a revision")
    path = os.pathsep.join([str(root / "src"), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, __file__, "--json", str(root)]
    return json.loads(subprocess.check_output(command, env={**os.environ, "PYTHONPATH": path}))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--json"]:
        print(json.dumps(sizes(Path(sys.argv[2]))))
    else:
        tables = list(map(measured, sys.argv[1:] or [Path(__file__).parents[2]]))
        print(f"{'':28}", *(f"{name:>7}" for _ in tables for name in COLUMNS))
        for name in dict.fromkeys(name for table in tables for name in table):
            cells = [cell for table in tables for cell in table.get(name, [""] * len(COLUMNS))]
            print(f"{name:28}", *(f"{cell:>7}" for cell in cells))
