"""Links, sizes and commands of the documents."""

import re
from pathlib import Path

import pytest
from without_extras import GUIDES

CHECKOUT = Path(__file__).resolve().parents[2]
TUTORIAL = sorted((CHECKOUT / "docs" / "tutorial").glob("*.md"))
PAGES = [
    *CHECKOUT.glob("*.md"),
    *sorted((CHECKOUT / "docs").glob("*.md")),
    *TUTORIAL,
    *sorted((CHECKOUT / "docs" / "measurements").glob("*.md")),
    *sorted((CHECKOUT / "overlay").glob("*.md")),
    CHECKOUT / "examples" / "README.md",
]


def anchor_of(title):
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def anchors(page):
    """Return the names that a link to ``page`` can have behind ``#``."""
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title) for title in titles)
    return {*map(anchor_of, plain), *re.findall(r'<a id="([^"]+)"', text)}


def dead_links(page):
    text = re.sub(r"```.*?```|`[^`\n]*`(?!\])", "", page.read_text("utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"https?:|mailto:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        exists = target.exists()
        if exists and anchor and target.suffix == ".md":
            exists = anchor in anchors(target)
        if not exists and not is_of_deleted_extra(target):
            yield link


def is_of_deleted_extra(path):
    """Return whether a path is in the page or a folder of an extra that was deleted."""
    try:
        relative = path.relative_to(CHECKOUT).as_posix()
    except ValueError:
        return False
    folders = r"docs/reference|docs/measurements|docs|config|test/extras|src/gz_testauto/extras"
    pattern = rf"(?:{folders})/(\w+)(?:\.md|/.*|)"
    found = re.fullmatch(pattern, relative)
    if not found:
        return False
    extra = next((name for name, guide in GUIDES.items() if guide == found[1]), found[1])
    if (CHECKOUT / "src" / "gz_testauto" / "extras" / extra).is_dir():
        return False
    pip_extras = (CHECKOUT / "pyproject.toml").read_text("utf-8").split("optional-dependencies]")[1]
    return re.search(rf"^{extra} = \[", pip_extras, re.MULTILINE) is not None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_links_in_documents_lead_to_existing_files_and_headings(page):
    assert list(dead_links(page)) == []


def test_link_check_detects_a_missing_file_or_heading(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Two words\n[a](#two-words) [b](#three) [c](other.md) [d](page.md#two-words)")
    assert list(dead_links(page)) == ["#three", "other.md"]


def test_readme_names_the_subject_and_has_at_most_700_words():
    text = (CHECKOUT / "README.md").read_text("utf-8")
    assert len(text.split()) <= 700
    first = re.split(r"(?<=\.)\s", text.split("\n\n")[1])[0]
    assert all(word in first for word in ("ROS 1", "Gazebo", "Monte Carlo", "planners"))


def test_each_page_of_docs_is_linked_from_the_readme():
    linked = set(re.findall(r"\]\((docs/[\w/]+\.md)", (CHECKOUT / "README.md").read_text("utf-8")))
    pages = {str(path.relative_to(CHECKOUT)) for path in (CHECKOUT / "docs").rglob("*.md")}
    below = {page for page in pages if page.startswith(("docs/reference/", "docs/measurements/"))}
    assert pages - below - linked == set()
    assert {"docs/reference/README.md", "docs/measurements/README.md"} <= linked


def test_each_page_of_measurements_is_linked_from_their_list():
    folder = CHECKOUT / "docs" / "measurements"
    linked = set(re.findall(r"\]\((\w+\.md)\)", (folder / "README.md").read_text("utf-8")))
    assert {page.name for page in folder.glob("*.md")} - linked == {"README.md"}


MEASUREMENTS = sorted((CHECKOUT / "docs" / "measurements").glob("[!R]*.md"))
SOURCES = {
    "commit": r"\b[0-9a-f]{7,40}\b",
    "date": r"\b20\d\d-\d\d-\d\d\b",
    "command": r"`\./bootstrap|```|gz_testauto |benchmarks/\w+\.py|test_\w+\.py|`[a-z-]+` with",
}


def missing_sources(text):
    """Return the sections with a table that name no commit, date or command, nor does the start of
    the page."""
    start, *sections = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    return [
        f"{section.splitlines()[0]}: {kind}"
        for section in sections
        if re.search(r"^\|[-|: ]+\|$", section, re.MULTILINE)
        for kind, pattern in SOURCES.items()
        if not re.search(pattern, start + section)
    ]


@pytest.mark.parametrize("page", MEASUREMENTS, ids=lambda page: page.stem)
def test_each_table_of_measurements_has_a_commit_a_date_and_a_command(page):
    assert missing_sources(page.read_text("utf-8")) == []


def test_a_table_without_its_source_is_detected():
    table = "# Page\n\n## Speed\n\nAt commit 0123abcd, 2026-11-30.\n\n| a |\n|---|\n| 1 |\n"
    assert missing_sources(table) == ["## Speed: command"]
    assert missing_sources(table.replace("At", "`./bootstrap test` at")) == []


def test_each_page_of_docs_is_in_the_navigation_of_the_site():
    docs = CHECKOUT / "docs"
    navigation = (CHECKOUT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
    named = set(re.findall(r"([\w/]+\.md)$", navigation, re.MULTILINE))
    assert {page.relative_to(docs).as_posix() for page in docs.rglob("*.md")} <= named


def guides_with_a_choice():
    return [page for page in PAGES if "\n## Which one?\n" in page.read_text("utf-8")]


@pytest.mark.parametrize("page", guides_with_a_choice(), ids=lambda page: page.stem)
def test_guides_start_with_the_choice_and_an_example_and_have_at_most_2500_words(page):
    text = page.read_text("utf-8")
    first = re.split(r"^## ", text, flags=re.MULTILINE)[1]
    assert first.startswith("Which one?")
    assert "\n|" in first
    assert "\n```" in first
    without_code = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    assert len([word for word in without_code.split() if re.search(r"\w", word)]) <= 2500


@pytest.mark.parametrize("page", TUTORIAL, ids=lambda page: page.stem)
def test_tutorial_pages_have_at_most_1200_words(page):
    assert len(page.read_text("utf-8").split()) <= 1200
