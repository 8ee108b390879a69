"""Extension of mkdocstrings: converts the roles of docstrings, such as ``:class:``, to links."""

import re
from typing import Any

from griffe import Extension, Object

ROLE = re.compile(r":(?:attr|class|data|exc|func|meth|mod|obj):`(~?)\.?([\w.]+)`")


def with_links(text: str) -> str:
    """Return a docstring with each role as a cross-reference in Markdown.

    A name without a module is only set as code, since its module is not known here. So is
    a name of another package, which has no page here.
    """

    def link(role: "re.Match[str]") -> str:
        shortened, name = role.groups()
        label = f"`{name.rsplit('.', 1)[-1] if shortened else name}`"
        if not name.startswith("gz_testauto."):
            return label
        return f'<autoref identifier="{name}" optional>{label}</autoref>'

    return ROLE.sub(link, text)


class Roles(Extension):
    """Converts the roles in the docstring of each object."""

    def on_instance(self, *, obj: Object, **_: Any) -> None:
        """Convert the roles of one docstring."""
        if obj.docstring is not None:
            obj.docstring.value = with_links(obj.docstring.value)
