"""Docstrings and the list of equivalent mutants refer to code that exists."""

import re
from pathlib import Path
from typing import Iterator

CHECKOUT = Path(__file__).resolve().parents[2]
SOURCE = CHECKOUT / "src" / "gz_testauto"
REFERENCE = re.compile(r":(?:mod|class|func|meth|data|attr):`~?gz_testauto((?:\.\w+)+)`")


def is_there(reference: str) -> bool:
    """Return whether a dotted name, below this package, is a module or a name in a module."""
    first, *rest = reference.strip(".").split(".")
    path = SOURCE / first
    while rest and ((path / rest[0]).is_dir() or (path / f"{rest[0]}.py").is_file()):
        path /= rest.pop(0)
    module = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if not module.is_file():
        return False
    return not rest or re.search(rf"\b{rest[0]}\b", module.read_text("utf-8")) is not None


def dead_references() -> Iterator[str]:
    for path in SOURCE.rglob("*.py"):
        for found in REFERENCE.finditer(path.read_text("utf-8")):
            if not is_there(found[1]):
                yield f"{path.relative_to(SOURCE)}: gz_testauto{found[1]}"


def test_every_reference_in_a_docstring_has_a_target():
    assert is_there(".sdf.scene") and is_there(".trial.executor.TrialExecutor")
    assert not is_there(".sdf.template") and not is_there(".trial.executor.NoSuchName")
    assert list(dead_references()) == []


def test_each_equivalent_mutant_quotes_a_line_of_its_module():
    text = (CHECKOUT / "benchmarks" / "mutation_equivalents.txt").read_text("utf-8")
    blocks = [block.splitlines() for block in text.split("\n\n") if block.startswith("src/")]
    assert len(blocks) == text.count("\nsrc/") > 0
    outdated = []
    for module, original, *_ in blocks:
        path = CHECKOUT / module
        code = path.read_text("utf-8") if path.is_file() else ""
        # a mutated statement of several lines is listed as one line
        if re.sub(r"\s", "", original[2:]) not in re.sub(r"\s", "", code):
            outdated.append(f"{module}: {original}")
    assert outdated == []
