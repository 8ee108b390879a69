"""Limits on odd words, docstrings without a verb, long sentences and repeated class names.

``language.py`` in this folder lists each place; see "Language" in CONTRIBUTING.md for the rules.
"""

import ast
import re
from pathlib import Path
from typing import Dict, NamedTuple

import language
import pytest
import size
from source_trees import walk_statements

AIM = 2.0  # odd words in 1,000 words; a limit may be lowered, never raised
TOLERANCE = 1.0  # since a figure changes a little where code is moved or removed
MOST_DOCSTRING_WORDS = 180  # per 100 lines of code
MOST_VAGUE_NAMES = 10  # per 1,000 bound names of each package


class Limit(NamedTuple):
    """The largest counts of a group of files; ``language.py limits`` prints the present ones."""

    odd: float  # in 1,000 words
    relative: int = 0  # docstrings that start with a relative clause
    long: int = 0  # sentences of a page with more than 30 words


LIMITS: Dict[str, Limit] = {
    "benchmarks": Limit(2.0),
    "bootstrap": Limit(2.0),
    "config": Limit(2.0),
    "docs": Limit(2.0),
    "launch": Limit(2.0),
    "msg": Limit(2.0),
    "overlay": Limit(2.0),
    "scripts": Limit(2.0),
    "setup.py": Limit(62.0),
    "src/gz_testauto": Limit(2.0),
    "src/gz_testauto/actors": Limit(2.0),
    "src/gz_testauto/base": Limit(2.0),
    "src/gz_testauto/cli": Limit(2.0),
    "src/gz_testauto/extras": Limit(2.0),
    "src/gz_testauto/extras/colliders": Limit(2.0),
    "src/gz_testauto/extras/dask": Limit(2.0),
    "src/gz_testauto/extras/learning": Limit(2.0),
    "src/gz_testauto/extras/opendrive": Limit(2.0),
    "src/gz_testauto/extras/pybullet": Limit(2.0),
    "src/gz_testauto/extras/scenic": Limit(2.0),
    "src/gz_testauto/extras/roads": Limit(2.0),
    "src/gz_testauto/grid": Limit(2.0),
    "src/gz_testauto/metrics": Limit(2.0),
    "src/gz_testauto/planners": Limit(2.0),
    "src/gz_testauto/processes": Limit(2.0),
    "src/gz_testauto/randomization": Limit(2.0),
    "src/gz_testauto/results": Limit(2.0),
    "src/gz_testauto/ros": Limit(2.0),
    "src/gz_testauto/sampling": Limit(2.0),
    "src/gz_testauto/sdf": Limit(2.0),
    "src/gz_testauto/simulators": Limit(2.0),
    "src/gz_testauto/spec": Limit(2.0),
    "src/gz_testauto/testing": Limit(2.0),
    "src/gz_testauto/trial": Limit(2.0),
    "src/gz_testauto/workers": Limit(2.0),
    "src/gz_testauto/worlds": Limit(2.0),
    "srv": Limit(2.0),
    "test": Limit(2.0),
    "test/actors": Limit(2.0),
    "test/architecture": Limit(2.0),
    "test/base": Limit(2.0),
    "test/cli": Limit(2.0),
    "test/extras": Limit(2.0),
    "test/grid": Limit(2.0),
    "test/metrics": Limit(2.0),
    "test/models": Limit(2.0),
    "test/packaging": Limit(2.0),
    "test/planners": Limit(2.0),
    "test/processes": Limit(2.0),
    "test/randomization": Limit(2.0),
    "test/results": Limit(2.0),
    "test/ros": Limit(2.0),
    "test/sampling": Limit(2.0),
    "test/sdf": Limit(2.0),
    "test/simulators": Limit(2.0),
    "test/spec": Limit(2.0),
    "test/testing": Limit(2.0),
    "test/trial": Limit(2.0),
    "test/workers": Limit(2.0),
    "test/worlds": Limit(2.0),
}


@pytest.fixture(scope="module")
def figures():
    return language.figures(language.all_texts())


def test_no_folder_has_more_odd_words_than_its_limit(figures):
    exceeded = {
        group: f"{row.per_thousand:.1f} in 1,000 words, limit {LIMITS[group].odd}"
        for group, row in figures.items()
        if group in LIMITS and row.per_thousand > LIMITS[group].odd + TOLERANCE and row.odd > 1
    }
    assert exceeded == {}, "python test/architecture/language.py list PATH prints each place"


def test_texts_of_new_folders_contain_at_most_two_unusual_words_per_thousand(figures):
    new = {group: row for group, row in figures.items() if group not in LIMITS}
    assert {
        group: row for group, row in new.items() if row.per_thousand > AIM and row.odd > 1
    } == {}
    assert {group: row for group, row in new.items() if row.relative or row.long} == {}


def test_docstrings_do_not_start_with_a_relative_clause(figures):
    counts = {group: row.relative for group, row in figures.items() if group in LIMITS}
    assert {g: n for g, n in counts.items() if n > LIMITS[g].relative} == {}


def test_sentences_of_documents_have_at_most_30_words(figures):
    counts = {group: row.long for group, row in figures.items() if group in LIMITS}
    assert {g: n for g, n in counts.items() if n > LIMITS[g].long} == {}


def damaged_blocks(docstring):
    """Return the lines of a docstring where code or a numbered list became running text."""
    lines = docstring.splitlines()
    for number, line in enumerate(lines):
        following = next((text for text in lines[number + 1 :] if text.strip()), "")
        is_code = line.rstrip().endswith("::")
        if is_code and len(following) - len(following.lstrip()) <= len(line) - len(line.lstrip()):
            yield following
        if re.search(r"[.:;)] [2-9]\.(?: \*\*|$)", line):
            yield line


def test_code_and_numbered_lists_in_docstrings_keep_their_lines():
    found = [
        f"{path}: {line.strip()}"
        for path in sorted((language.CHECKOUT / "src").rglob("*.py"))
        for node in walk_statements(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
        for line in damaged_blocks(ast.get_docstring(node) or "")
    ]
    assert not found
    assert list(damaged_blocks("As follows::\n\nwith a: # one line\n")) == ["with a: # one line"]
    assert not list(damaged_blocks("As follows::\n\n    with a:\n        b\n"))
    assert list(damaged_blocks("1. **a**: first. 2. **b**: second.")) != []


def test_docstrings_are_short_and_names_are_specific():
    counts = size.package_measures(language.CHECKOUT / language.SOURCE)
    total = counts.pop("TOTAL")
    assert 100 * total["words"] / total["code"] <= MOST_DOCSTRING_WORDS, "size.py prints them"
    vague = {name: 1000 * count["vague"] / max(count["names"], 1) for name, count in counts.items()}
    assert {name: share for name, share in vague.items() if share > MOST_VAGUE_NAMES} == {}


def test_vague_names_include_parameters_and_loop_variables(tmp_path):
    (module := tmp_path / "module.py").write_text(
        '"""Three words here."""\n\n\ndef read(one, *, _found=None):\n'
        '    """One."""\n    return [own for own in one]  # others\n'
    )
    counts = size.measures(module)
    assert counts == {"lines": 6, "code": 2, "words": 4, "names": 3, "vague": 3}


def test_class_names_are_unique():
    assert language.repeated_class_names() == {}


def test_glossary_names_existing_modules():
    page = (language.CHECKOUT / "CONTRIBUTING.md").read_text("utf-8")
    glossary = page.split("## Glossary")[1].split("\n## ")[0]
    package = language.CHECKOUT / language.SOURCE
    comparison = package / "extras" / "simulator_comparison"
    missing = []
    for section in glossary.split("\n### ")[1:]:
        if "(`extras/simulator_comparison/`)" in section and not comparison.exists():
            continue
        paths = re.findall(r"`([\w/]+(?:\.py|/))`", section)
        assert len(paths) > 5
        roots = (language.CHECKOUT, package, comparison)
        missing += [path for path in paths if not any((root / path).exists() for root in roots)]
    # An extra can be deleted.
    extras = [path for path in missing if path.startswith("extras/")]
    deleted = [path for path in extras if not (package / Path(*Path(path).parts[:2])).exists()]
    assert missing == deleted


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Return the remaining trials, such as those that were stopped.", []),
        ("The planner is told what goes on beside it.", ["told", "goes", "beside"]),
        ("Whoever ASKS is told at once.", ["Whoever", "ASKS", "told", "at once"]),
        ("Run `gz_testauto tell` in the two-way mode; the ``thing`` exists.", []),
        ("Users who install MuJoCo, which comes with the package, need no more.", []),
    ],
)
def test_odd_words_are_counted_outside_code_and_standard_phrases(text, found):
    assert language.oddities(text) == found


def test_module_texts_include_docstrings_comments_messages_and_test_names(tmp_path, monkeypatch):
    monkeypatch.setattr(language, "CHECKOUT", tmp_path)
    monkeypatch.setattr(language, "SOURCE", "")
    (tmp_path / "module.py").write_text(
        '"""A module."""\n'
        "class Case:\n"
        '    """A class."""\n'
        "    limit_s = 3.0  # a comment of four words\n"
        "    def test_it_is_valid(self, name):\n"
        '        raise ValueError(f"no planner has the name {name} today", "#fff", "a b")\n'
        '        limit = "a part of some message"\n'
    )
    texts = {(text.kind, text.line, text.text) for text in language.texts_of("module.py")}
    assert texts == {
        ("docstring", 1, "A module."),
        ("docstring", 3, "A class."),
        ("comment", 4, "a comment of four words"),
        ("test name", 5, "it is valid"),
        ("message", 6, "no planner has the name `…` today"),
        ("part of a message", 7, "a part of some message"),
    }


def test_page_texts_exclude_code_and_the_column_of_words_to_avoid(tmp_path, monkeypatch):
    monkeypatch.setattr(language, "CHECKOUT", tmp_path)
    (tmp_path / "page.md").write_text(
        "# Title of a page\n\nOne sentence\nover [two](lines.md).\n\n```sh\nwhoever\n```\n"
        "| term | not |\n|---|---|\n| way point | told |\n"
    )
    texts = [text.text for text in language.texts_of("page.md")]
    assert texts == ["Title of a page", "One sentence over two.", "term", "way point"]


def test_sample_of_texts_depends_only_on_the_seed():
    sample = language.draw_sample(1)
    assert {name: len(texts) for name, texts in sample.items()} == {
        "docstrings": 40,
        "messages": 40,
        "sentences of documents": 40,
        "test names": 40,
    }
    assert sample == language.draw_sample(1)
    assert sample != language.draw_sample(2)


@pytest.mark.slow
def test_sampled_verdict_texts_name_planners():
    verdicts = language.draw_verdicts(1)
    assert len(set(verdicts)) == 20
    assert all(re.search(r"\b(?:fgm|dwa|vfh)\b", verdict) for verdict in verdicts)
    assert verdicts == language.draw_verdicts(1)
