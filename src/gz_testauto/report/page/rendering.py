"""Render pages that allow inline scripts and styles only by their hashes."""

import base64
import hashlib
from pathlib import Path
from typing import Any

import jinja2

from gz_testauto.base.escaping import escape_text


def template(path: Path) -> jinja2.Template:
    """Return a template that escapes values and rejects undefined values."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(str(path.parent)),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_escape_for_page,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(path.name)


def _escape_for_page(value: Any) -> Any:
    # A bidirectional control character would affect its neighbors, so text is escaped as on a
    # terminal. Text that is marked as safe is not changed.
    return escape_text(value) if type(value) is str else value


def content_hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
