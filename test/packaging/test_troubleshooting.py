"""The messages that docs/troubleshooting.md explains exist in the code."""

import ast
import re
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
PAGE = CHECKOUT / "docs" / "troubleshooting.md"
pytestmark = pytest.mark.slow

MESSAGES = re.findall(r"^\| `([^`]+)` \|", PAGE.read_text("utf-8"), re.MULTILINE)


def text_of(node):
    """Return the text of an expression, with ``…`` for parts that are known only when it runs."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(map(text_of, node.values))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return text_of(node.left) + text_of(node.right)
    return "…"


@pytest.fixture(scope="module")
def texts():
    paths = (CHECKOUT / "src").rglob("*.py")
    nodes = (node for path in paths for node in ast.walk(ast.parse(path.read_text("utf-8"))))
    kinds = (ast.JoinedStr, ast.Constant, ast.BinOp)
    return {text_of(node) for node in nodes if isinstance(node, kinds)}


def test_page_explains_messages():
    assert len(MESSAGES) >= 30


@pytest.mark.parametrize("message", MESSAGES)
def test_each_explained_message_is_in_the_code(message, texts):
    pattern = re.compile(".*".join(map(re.escape, message.split("…"))), re.DOTALL)
    assert any(map(pattern.search, texts))
