"""Hooks of mkdocs: pages that are not in ``docs``, and links to them.

The pages of ``docs`` link to other files of the repository, such as campaigns. Each linked file
becomes a page below ``files/``, so that no link leaves the site. The pages of the Python reference
consist of docstrings.
"""

import json
import posixpath
import re
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(?<=\]\()(?![a-z]+:)([^)#\s]+)(?=[)#])")
CODE = re.compile(r"^ {0,3}(```|~~~).*?^ *\1|`[^`\n]+`", re.MULTILINE | re.DOTALL)
LANGUAGES = {
    ".launch": "xml",
    ".sdf": "xml",
    ".world": "xml",
    ".scenic": "python",
    ".py": "python",
}
SHIM, OWN_SHIM = "https://unpkg.com/iframe-worker/shim", "site/iframe_worker/shim.js"

PYTHON_REFERENCE: Dict[str, Tuple[str, Tuple[str, ...]]] = {
    "notebooks": ("Notebooks and scripts", ("notebook.running", "notebook.results")),
    "planners": (
        "Planners",
        (
            "planners.interface",
            "planners.limits",
            "planners.scans",
            "base.observation",
            "base.pose",
        ),
    ),
    "simulators": ("Simulators", ("simulators.interface",)),
    "metrics": ("Metrics", ("metrics.interface",)),
    "results": ("Results", ("results.directory", "results.records", "results.recordings")),
    "testing": (
        "Conformance tests",
        (
            "testing.planner_conformance",
            "testing.simulator_conformance",
            "testing.workers_conformance",
        ),
    ),
}
"""Title and modules, below ``gz_testauto``, of each page of the Python reference."""

SEARCH_OPTIONS: Dict[str, Dict[str, Any]] = {
    "files/": {"exclude": True},
    "tutorial/": {"boost": 2},
    "measurements/": {"boost": 0.5},
    "reference/": {"boost": 0.5},
    "architecture.md": {"boost": 0.5},
    "ideas.md": {"boost": 0.5},
}
"""Options of the search for pages, by the start of their names."""


# ---- pages that show files of the repository


def page_of(path: str) -> str:
    """Return the page that shows a file or folder of the repository."""
    return f"files/{path}" if path.endswith(".md") else f"files/{path}.md"


def links(text: str) -> Iterator["re.Match[str]"]:
    """Yield the relative targets of the links in Markdown, without those inside of code."""
    code = [match.span() for match in CODE.finditer(text)]
    for link in LINK.finditer(text):
        if not any(start <= link.start() < end for start, end in code):
            yield link


def linked_path(source: str, target: str) -> Optional[str]:
    """Return the path in the repository that a link names; None if it does not exist.

    ``source`` is the path of the linking file in the repository; that of a folder ends with ``/``.
    """
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
    return path if (ROOT / path).exists() else None


def is_in_docs(path: str) -> bool:
    """Return whether mkdocs itself makes a page or a copy of a file."""
    return path.startswith("docs/") and path.endswith((".md", ".png"))


def as_markdown(path: str) -> Tuple[str, str]:
    """Return a file or folder of the repository as Markdown, after the source of its links."""
    file = ROOT / path
    if file.is_dir():
        names = sorted(one.name for one in file.iterdir() if one.name[0] not in "_.")
        return f"{path}/", "\n".join([f"# {path}", "", *(f"- [{one}]({one})" for one in names)])
    text = file.read_text("utf-8")
    if path.endswith(".md"):
        return path, text
    if path.endswith(".ipynb"):
        return path, "\n\n".join(map(cell_as_markdown, json.loads(text)["cells"]))
    language = LANGUAGES.get(file.suffix, file.suffix[1:])
    return path, f"# {path}\n\n``````{language}\n{text.rstrip()}\n``````\n"


def cell_as_markdown(cell: Dict[str, Any]) -> str:
    """Return a cell of a notebook with its stored outputs as Markdown."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return source
    parts = [f"```python\n{source}\n```"]
    for output in cell["outputs"]:
        data = output.get("data", {})
        if "image/png" in data:
            picture = data["image/png"].replace("\n", "")
            parts.append(f'<img alt="plot" src="data:image/png;base64,{picture}">')
        else:
            printed = "".join(output.get("text") or data["text/plain"])
            parts.append(f"```text\n{printed}\n```")
    return "\n\n".join(parts)


def relinked(source: str, text: str, page: str) -> str:
    """Return Markdown with links for a page of the site in place of those of the repository."""
    parts, end = [], 0
    for link in links(text):
        path = linked_path(source, link[1])
        if path is None:
            continue  # mkdocs reports it
        target = path[len("docs/") :] if is_in_docs(path) else page_of(path)
        parts += [
            text[end : link.start()],
            posixpath.relpath(target, posixpath.dirname(page) or "."),
        ]
        end = link.end()
    return "".join([*parts, text[end:]])


def pages_of_files(pages: List[Tuple[str, str]]) -> Dict[str, str]:
    """Return a page for each file that ``pages`` link to, directly or by other files.

    A page is given as its path in the repository and its Markdown.
    """
    found: Dict[str, str] = {}
    while pages:
        source, text = pages.pop()
        for link in links(text):
            path = linked_path(source, link[1])
            if path is None or is_in_docs(path) or page_of(path) in found:
                continue
            linked = as_markdown(path)
            found[page_of(path)] = relinked(*linked, page_of(path))
            pages.append(linked)
    return found


# ---- pages of docstrings


def python_pages() -> Dict[str, str]:
    """Return the pages of the Python reference."""
    return {
        f"reference/python/{name}.md": "\n\n".join(
            [f"# {title}", *(f"::: gz_testauto.{module}" for module in modules)]
        )
        for name, (title, modules) in PYTHON_REFERENCE.items()
    }


# ---- what mkdocs calls


def existing(entries: Any, generated: Dict[str, str]) -> Any:
    """Return a navigation without the pages of deleted extras."""
    if isinstance(entries, str):
        return entries if entries in generated or (ROOT / "docs" / entries).exists() else None
    if isinstance(entries, dict):
        kept = {title: existing(one, generated) for title, one in entries.items()}
        return {title: one for title, one in kept.items() if one} or None
    return [one for one in (existing(entry, generated) for entry in entries) if one]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Remove deleted pages from the navigation."""
    config.nav = existing(config.nav, python_pages())
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in ``docs``."""
    texts = [(f"docs/{file.src_uri}", file.content_string) for file in files.documentation_pages()]
    for name, text in {**pages_of_files(texts), **python_pages()}.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Set the search options of a page, and replace links to other files of the repository."""
    name = page.file.src_uri
    for start, options in SEARCH_OPTIONS.items():
        if name.startswith(start):
            page.meta.setdefault("search", options)
    return markdown if page.file.generated_by else relinked(f"docs/{name}", markdown, name)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Load the script for the search in opened files from the site, and not from another host."""
    return output.replace(SHIM, get_relative_url(OWN_SHIM, page.file.url))


def on_post_template(output: str, template_name: str, config: MkDocsConfig) -> str:
    """Do the same in the page for missing pages."""
    return output.replace(SHIM, OWN_SHIM)
