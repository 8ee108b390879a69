"""YAML text together with where each of its values stands.

Owns parsing (safe YAML; duplicate keys refused; ``1e-3`` is a number, as in YAML 1.2) and the
way from a field's path to its line. Knows nothing of what the fields mean.
"""

import re
from typing import Any, Dict, Iterable, List, Tuple

import yaml

from gz_testauto.errors import SpecError


class _Loader(yaml.SafeLoader):
    """Safe YAML whose plain numbers are those of YAML 1.2."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)[eE][-+]?[0-9]+$"),
    list("-+0123456789."),
)


class YamlSource:
    """One YAML document. ``data`` is plain dicts, lists and scalars.

    Raises ``SpecError`` for what is not YAML and for keys that stand twice in one mapping.
    """

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        loader = _Loader(text)
        try:
            self._node = loader.get_single_node()
            self._refuse_duplicates()
            self.data: Any = loader.construct_document(self._node) if self._node else None
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            place = f"{name}:{mark.line + 1}" if mark else name
            raise SpecError(f"{place}: is not YAML: {error.problem or error.context}") from error
        except yaml.YAMLError as error:
            raise SpecError(f"{name}: is not YAML: {error}") from error
        finally:
            loader.dispose()

    def locate(self, path: Iterable[Any], missing: bool = False) -> Tuple[int, Tuple[Any, ...]]:
        """The line (from 1) of the value at ``path``, and the path as far as the file has it.

        Parts that the file does not have, as the names of union members, are skipped; with
        ``missing``, the last part is kept although the file lacks it.
        """
        parts = list(path)
        line, found = 1, []
        node = self._node
        if isinstance(node, yaml.CollectionNode):
            line = node.start_mark.line + 1
        for position, part in enumerate(parts):
            step = self._child(node, part)
            if step is not None:
                line, node = step
                found.append(part)
            elif missing and position == len(parts) - 1:
                found.append(part)
        return line, tuple(found)

    @staticmethod
    def _child(node: Any, part: Any) -> Any:
        """(line, node) of the entry ``part`` of a mapping or sequence, or None."""
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if key.value == str(part):
                    return key.start_mark.line + 1, value
        elif isinstance(node, yaml.SequenceNode) and part in range(len(node.value)):
            child = node.value[part]
            return child.start_mark.line + 1, child
        return None

    def _refuse_duplicates(self) -> None:
        problems: List[str] = []
        stack, seen = [self._node], set()
        while stack:
            node = stack.pop()
            if id(node) in seen:  # an alias: the same node again
                continue
            seen.add(id(node))
            if isinstance(node, yaml.SequenceNode):
                stack.extend(node.value)
            if not isinstance(node, yaml.MappingNode):
                continue
            first: Dict[str, int] = {}
            for key, value in node.value:
                stack.append(value)
                line = key.start_mark.line + 1
                if key.value in first and isinstance(key, yaml.ScalarNode):
                    problems.append(
                        f"{self.name}:{line}: key {key.value!r} stands twice; "
                        f"it is already on line {first[key.value]}"
                    )
                elif isinstance(key, yaml.ScalarNode):
                    first[key.value] = line
        if problems:
            raise SpecError("\n".join(sorted(problems)))
