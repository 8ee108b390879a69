"""Collect the texts of this project, count odd words in them, and draw samples for readers.

Run it from the checkout, for example before and after you revise a folder::

    python test/architecture/language.py count                  a row for each folder and page
    python test/architecture/language.py list src/gz_testauto/trial docs/gate.md
    ./bootstrap exec python3 test/architecture/language.py sample --seed 1      180 texts to judge
    python test/architecture/language.py limits                 the present figures for the test
"""

import argparse
import ast
import collections
import random
import re
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from source_trees import walk, walk_statements

CHECKOUT = Path(__file__).resolve().parents[2]
SOURCE = "src/gz_testauto/"

ODDITIES = {
    "tell": r"tell|tells|told|telling",
    "say": r"say|says|said|saying",
    "ask": r"ask|asks|asked|asking",
    "hear": r"hear|hears|heard",
    "know": r"know|knows|knew",
    "who": r"who|whom",
    "whoever": r"whoever|whomever",
    "nobody": r"nobody|somebody|anybody|everybody|someone|no one",
    "whatever": r"whatever|wherever|whichever|whence|whither",
    "thing": r"things?",
    "stand": r"stand|stands|stood",
    "go": r"go|goes|went|gone",
    "come": r"come|comes|came",
    "bring": r"bring|brings|brought",
    "beside": r"beside",
    "such": r"such(?! as\b)",
    "way": r"ways?",
    "begin": r"begin|begins|began|begun",
    "lie": r"lie|lies|lay|lying",
    "apart": r"apart",
    "let": r"let|lets",
    "anew": r"anew",
    "alike": r"alike",
    "at once": r"at once",
    "for ever": r"for ever",
    "as far as": r"(?:as|so) far as",
    "of its own": r"of (?:its|their|one's|our|his) own",
    "is to be": r"(?:is|are) to be",
    "shall": r"shall",
    "somewhere": r"somewhere|nowhere|elsewhere",
    "off by": r"(?:wrong|off) by",
    "give up": r"gives? up|gave up|given up|giving up",
    "meet": r"meets?|met",
    "made": r"(?:is|are|was|were) (?:made|taken|brought)",
}
"""34 groups of words that comparable libraries use less than 2 times in 1,000 words."""

ALLOWED = (
    r"(?:users?|people|readers?|developers?|engineers?|teachers?|researchers?) who",
    r"comes? (?:with|from)",  # a dependency comes with a package; a value comes from a source
    r"asks? for confirmation",
    r"lie-in|let's|go-to",
    r"ways? to",
    r"right of way",
    r"follow the gap",
    r"(?:is|are|be) (?:not )?met",  # a condition
)
"""Uses of these words that are standard English; they are removed before the count."""

_ODD = re.compile(
    r"(?<![\w-])(?:"
    + "|".join(f"(?P<g{i}>{pattern})" for i, pattern in enumerate(ODDITIES.values()))
    + r")(?![\w-])",
    re.IGNORECASE,
)
_ALLOWED = re.compile(r"\b(?:" + "|".join(ALLOWED) + r")\b", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z][A-Za-z']*")
_CODE = re.compile(r"``[^`]+``|`[^`]+`|:\w+:`[^`]+`|https?://\S+|\$\{[^}]*\}")

RELATIVE = re.compile(
    r"(?:What|Who|Whoever|Whom|Whose|How|Where|Wherever|When|Which|Whether|Why|Of (?:what|which)"
    r"|That which|The same|As)\b"
)
"""A docstring that starts so has no verb and often no noun."""

MOST_WORDS = 30  # in a sentence of the documents


class Text(NamedTuple):
    """A text that a person reads. ``path`` is relative to the checkout."""

    kind: str  # docstring, comment, message, doc or test name
    path: str
    line: int
    text: str


def plain(text: str) -> str:
    """Return ``text`` without code, addresses and allowed uses of the counted words."""
    return _ALLOWED.sub(" ", _CODE.sub(" ", text))


def oddities(text: str) -> List[str]:
    """Return each odd word in ``text``, as it is written there."""
    return [found[0] for found in _ODD.finditer(plain(text))]


def word_count(text: str) -> int:
    return len(_WORD.findall(_CODE.sub(" ", text)))


def tracked() -> List[str]:
    """Return the paths of all files that git tracks, relative to the checkout."""
    if not (CHECKOUT / ".git").exists():
        paths = (path for path in CHECKOUT.rglob("*") if path.is_file())
        return sorted(str(path.relative_to(CHECKOUT)) for path in paths)
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z"]
    listed = subprocess.run(command, cwd=CHECKOUT, check=True, stdout=subprocess.PIPE)
    names = listed.stdout.decode().split("\0")
    return [name for name in names if name and (CHECKOUT / name).is_file()]


def texts_of(path: str) -> Iterator[Text]:
    """Yield the texts of one file; none if it is of a type that has no texts."""
    suffix = Path(path).suffix
    if path.startswith(
        (SOURCE + "report/page/uplot/", ".build/", "docs/images/", "docs/reference/")
    ):
        return
    if suffix == ".md":
        yield from _page_texts(path)
    elif suffix == ".py" or path.startswith("scripts/"):
        yield from _python_texts(path)
    elif suffix in (".yaml", ".yml", ".msg", ".srv", ".scenic") or path == "bootstrap":
        yield from _commented(path, r"(?:^|\s)#+ (.*)")
    elif suffix in (".js", ".css"):
        yield from _commented(path, r"(?:^|\s)(?://|/\*) ?(.*?)(?:\*/)?$")
    elif suffix in (".launch", ".test"):
        yield from _commented(path, r"<!--(.*?)-->|doc=\"([^\"]*)\"")
    elif suffix == ".jinja":
        yield from _commented(path, r">([^<>{}]*[a-z] [^<>{}]*)")


def _commented(path: str, pattern: str) -> Iterator[Text]:
    content = (CHECKOUT / path).read_text("utf-8")
    for found in re.finditer(pattern, content, re.MULTILINE):
        text = next((group for group in found.groups() if group), "").strip()
        if word_count(text):
            yield Text("comment", path, content.count("\n", 0, found.start()) + 1, text)


def _python_texts(path: str) -> Iterator[Text]:
    content = (CHECKOUT / path).read_text("utf-8")
    tree = ast.parse(content)
    documented: Set[int] = set()
    in_strings: Set[int] = set()  # lines within a string of several lines
    nodes = list(walk(tree))
    for node in nodes:
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            value = getattr(statement, "value", None)
            text = getattr(value, "value", None)
            if isinstance(statement, ast.Expr) and isinstance(text, str):
                documented.add(id(value))
                yield Text("docstring", path, statement.lineno, text.strip())
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield Text("test name", path, node.lineno, node.name[5:].replace("_", " "))
        if isinstance(node, (ast.Constant, ast.JoinedStr)):
            in_strings.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    if path.startswith(SOURCE):
        yield from _messages(path, nodes, documented)
    for number, line in enumerate(content.splitlines(), 1):
        found = re.search(r"(?:^\s*|\s\s)#:? (?!noqa|type:|fmt:|!)(.*)", line)
        quoted = found and number in in_strings and re.search(r"[\"']", found[1])
        if found and not quoted and word_count(found[1]):
            yield Text("comment", path, number, found[1])


def _messages(path: str, nodes: Sequence[ast.AST], documented: Set[int]) -> Iterator[Text]:
    """Yield strings of at least four words, with a placeholder for each value in an f-string.

    The kind of a message is "message" where the code raises, logs or offers the whole string as
    help, and "part of a message" for all other strings.
    """
    parts: Set[int] = set()
    whole = {id(argument) for node in nodes for argument in _whole_messages(node)}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            parts.update(id(value) for value in node.values)
            text = "".join(
                str(value.value) if isinstance(value, ast.Constant) else "`…`"
                for value in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) in documented or id(node) in parts:
                continue
            text = node.value
        else:
            continue
        if word_count(text) >= 4 and re.search(r"[a-z]{2,} [a-z]{2,}", text):
            kind = "message" if id(node) in whole else "part of a message"
            yield Text(kind, path, node.lineno, text.strip())


def _whole_messages(node: ast.AST) -> List[ast.expr]:
    """Return the arguments that a node raises, logs or offers as help."""
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        return node.exc.args
    if not isinstance(node, ast.Call):
        return []
    function = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    helps = [word.value for word in node.keywords if word.arg in ("help", "description")]
    return helps + (node.args if re.search(r"^log|^warn|^error$|^info$|^fatal$", function) else [])


def _page_texts(path: str) -> Iterator[Text]:
    """Yield the paragraphs, list items and table cells of a Markdown page."""
    paragraph: List[str] = []
    avoided: Set[int] = set()  # columns of a table with words that are not to be used
    start, in_code = 0, False
    lines = (CHECKOUT / path).read_text("utf-8").splitlines()
    for number, line in enumerate([*lines, ""], 1):
        stripped = line.strip()
        if stripped.startswith("```"):
            in_code = not in_code
            stripped = ""
        elif in_code:
            continue
        starts_item = re.match(r"(?:[-*]|\d+\.|#+|>) ", stripped)
        if paragraph and (not stripped or starts_item or stripped.startswith("|")):
            yield Text("doc", path, start, _without_links(" ".join(paragraph)))
            paragraph = []
        if not stripped.startswith("|"):
            avoided.clear()
        if stripped.startswith("|"):
            cells = [_without_links(cell.strip()) for cell in stripped.strip("|").split("|")]
            avoided |= {column for column, cell in enumerate(cells) if cell == "not"}
            for column, cell in enumerate(cells):
                if word_count(cell) and column not in avoided:
                    yield Text("doc", path, number, cell)
        elif stripped and not stripped.startswith("!["):
            start = start if paragraph else number
            text = re.sub(r"^(?:[-*]|\d+\.|#+|>) +", "", stripped)
            paragraph.append(text)


def _without_links(text: str) -> str:
    return re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)


def sentences(text: str) -> List[str]:
    """Return the sentences of a paragraph; a colon or semicolon does not end one."""
    return [part for part in re.split(r"(?<=[.!?])[\"')*]*\s+(?=[A-Z`*\"(])", text) if part]


def sentence_length(sentence: str) -> int:
    """Return the number of words; a piece of code counts as one."""
    return len(_WORD.findall(_CODE.sub(" code ", sentence)))


@lru_cache(maxsize=1)
def all_texts() -> Tuple[Text, ...]:
    return tuple(text for path in tracked() for text in texts_of(path))


def group_of(path: str) -> str:
    """Return the folder, or the page, whose figures include those of ``path``."""
    if path.endswith(".md"):
        return path
    parts = Path(path).parts
    if path.startswith(SOURCE):
        deep = 4 if len(parts) > 4 and parts[2] == "extras" else 3
        return "/".join(parts[: min(deep, len(parts) - 1)])
    if parts[0] == "test" and len(parts) > 2:
        return "/".join(parts[:2])
    return parts[0]


class Figures(NamedTuple):
    """The counts of one group of files."""

    words: int
    odd: int
    relative: int  # docstrings that start with a relative clause
    long: int  # sentences of a page with more than 30 words

    @property
    def per_thousand(self) -> float:
        return 1000.0 * self.odd / max(self.words, 1)


def figures(texts: Iterable[Text]) -> Dict[str, Figures]:
    """Return the counts of each group, by its name."""
    counts: Dict[str, List[int]] = collections.defaultdict(lambda: [0, 0, 0, 0])
    for text in texts:
        count = counts[group_of(text.path)]
        count[0] += word_count(text.text)
        count[1] += len(oddities(text.text))
        if text.kind == "docstring" and not text.path.startswith("test"):
            count[2] += bool(RELATIVE.match(text.text))
        if text.kind == "doc":
            lengths = map(sentence_length, sentences(text.text))
            count[3] += sum(length > MOST_WORDS for length in lengths)
    return {group: Figures(*count) for group, count in sorted(counts.items())}


def repeated_class_names() -> Dict[str, List[str]]:
    """Return the names that several classes of the package have, a leading underscore aside."""
    places: Dict[str, List[str]] = collections.defaultdict(list)
    for path in sorted((CHECKOUT / SOURCE).rglob("*.py")):
        for node in walk_statements(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                where = f"{path.relative_to(CHECKOUT)}:{node.lineno}"
                places[node.name.lstrip("_")].append(where)
    return {name: found for name, found in sorted(places.items()) if len(found) > 1}


def selected(paths: Sequence[str]) -> List[Text]:
    """Return the texts below ``paths``, or all."""
    if not paths:
        return list(all_texts())
    prefixes = tuple(path.rstrip("/") for path in paths)
    found = (
        name
        for name in tracked()
        if any(name == prefix or name.startswith(prefix + "/") for prefix in prefixes)
    )
    return [text for name in found for text in texts_of(name)]


def draw_sample(seed: int) -> Dict[str, List[str]]:
    """Return texts for readers who do not see the code, drawn without their paths."""
    draw = random.Random(seed)
    groups: Dict[str, List[str]] = collections.defaultdict(list)
    for text in all_texts():
        if text.kind == "doc":
            groups["sentences of documents"].extend(_in_context(sentences(text.text)))
        elif text.kind == "docstring" and text.path.startswith("src"):
            groups["docstrings"].append(text.text)
        elif text.kind == "message":
            groups["messages"].append(text.text)
        elif text.kind == "test name":
            groups["test names"].append(text.text)
    return {name: draw.sample(sorted(set(found)), 40) for name, found in sorted(groups.items())}


def _in_context(paragraph: Sequence[str]) -> Iterator[str]:
    """Return each whole sentence of a paragraph between » and «, after the sentence before it."""
    for number, sentence in enumerate(paragraph):
        if sentence_length(sentence) >= 5 and sentence.rstrip("`*)").endswith((".", "?", "!", ":")):
            yield " ".join([*paragraph[max(0, number - 1) : number], f"»{sentence}«"])


def draw_verdicts(seed: int, count: int = 20) -> List[str]:
    """Return sentences that table, page and gate print for random results of three planners."""
    sys.path.append(str(CHECKOUT / "test"))  # pytest adds it by itself
    from language_verdicts import verdict_sentences

    return random.Random(seed).sample(sorted(verdict_sentences(seed)), count)


def _print_counts(texts: Iterable[Text]) -> None:
    rows = figures(texts)
    print(f"{'':52} {'words':>7} {'odd':>6} {'/1000':>6} {'relative':>8} {'long':>5}")
    for group, row in [*rows.items(), ("all", Figures(*map(sum, zip(*rows.values()))))]:
        print(
            f"{group:52} {row.words:7} {row.odd:6} {row.per_thousand:6.1f}"
            f" {row.relative:8} {row.long:5}"
        )


def _print_list(texts: Iterable[Text]) -> None:
    for text in texts:
        where = f"{text.path}:{text.line}: {text.kind}"
        found = oddities(text.text)
        if found:
            print(f"{where}: {', '.join(found)}: {' '.join(text.text.split())}")
        if text.kind == "docstring" and RELATIVE.match(text.text):
            print(f"{where} starts with a relative clause: {text.text.splitlines()[0]}")
        if text.kind == "doc":
            for sentence in sentences(text.text):
                length = sentence_length(sentence)
                if length > MOST_WORDS:
                    print(f"{where} of {length} words: {sentence}")


def _print_limits() -> None:
    for group, row in figures(all_texts()).items():
        limit = max(2.0, int(2 * row.per_thousand + 1) / 2)
        numbers = [str(limit), str(row.relative), str(row.long)]
        while numbers[-1] == "0":
            numbers.pop()
        print(f'    "{group}": Limit({", ".join(numbers)}),')
    print(" ".join(repeated_class_names()))


def _print_sample(name: str, texts: Iterable[str]) -> None:
    print(f"\n# {name}\n")
    for number, text in enumerate(texts, 1):
        print(f"{number}. {text}\n")


def main(arguments: Optional[Sequence[str]] = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("count", "list", "sample", "limits"))
    parser.add_argument("paths", nargs="*", help="files and folders, from the checkout on")
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample (default: 0)")
    options = parser.parse_args(arguments)
    if options.command == "count":
        _print_counts(selected(options.paths))
    elif options.command == "list":
        _print_list(selected(options.paths))
    elif options.command == "limits":
        _print_limits()
    else:
        for name, texts in draw_sample(options.seed).items():
            _print_sample(name, texts)
        _print_sample("verdicts", draw_verdicts(options.seed))  # needs ./bootstrap exec


if __name__ == "__main__":
    sys.exit(main())
