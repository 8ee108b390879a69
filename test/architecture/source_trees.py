"""Read the syntax trees of source files for the tests of this folder.

``ast.walk`` takes most of the time of these tests; :func:`walk` takes less than half of its time,
and :func:`walk_statements` a tenth.
"""

import ast
from typing import Iterator


def walk(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all nodes below it in the order of the source, without contexts and
    operators, which have no fields."""
    todo = [tree]
    while todo:
        node = todo.pop()
        yield node
        below = []
        for value in vars(node).values():
            if isinstance(value, ast.AST):
                if value._fields:
                    below.append(value)
            elif isinstance(value, list):
                below.extend(one for one in value if isinstance(one, ast.AST))
        todo.extend(reversed(below))


def walk_statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield a module or statement and all statements below it in the order of the source, without
    expressions."""
    todo = [tree]
    while todo:
        node = todo.pop()
        yield node
        for field in ("finalbody", "orelse", "handlers", "cases", "body"):
            todo.extend(reversed(getattr(node, field, ())))
