"""The sections of YAML keys in the reference: groups of classes by their YAML path.

A page has the sections of some top-level keys in the order of their paths. A key that several
classes have is described once.
"""

import ast
import functools
import importlib
import inspect
import posixpath
import re
import textwrap
from collections import Counter, OrderedDict
from typing import (
    Any,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Set,
    Tuple,
    Type,
)

from gz_testauto.actors.creation import PluginActorSpec
from gz_testauto.base.registry import Registry, extra_plugins
from gz_testauto.spec.actors import BEHAVIORS, ActorSpec
from gz_testauto.spec.campaign import BuiltinCampaignSpec, StackCampaignSpec
from gz_testauto.spec.distributions import Uniform
from gz_testauto.spec.localization import ESTIMATES
from gz_testauto.spec.model import LARGEST, PoseSpec, Spec
from gz_testauto.spec.obstacles import OBSTACLE_KINDS, ObstacleGroup, ObstacleSpec
from gz_testauto.spec.regions import Rectangle
from gz_testauto.spec.worlds import WORLD_SOURCES

ROOTS_OF_EXTRAS = {
    "learning": ("EnvironmentCampaignSpec", "gz_testauto.extras.learning.spec"),
    "scenic": ("DescriptorSpec", "gz_testauto.extras.scenic.descriptor"),
    "simulator_comparison": ("BenchSpec", "gz_testauto.extras.simulator_comparison.spec"),
    "tune": ("SpaceSpec", "gz_testauto.extras.tune.space"),
}
"""The file format of an extra: its class and module."""

CAMPAIGN_PAGES = {
    "worlds": ("worlds",),
    "robot": ("robot", "robots"),
    "planners": ("planners", "global_plan"),
    "limits": ("goal", "limits", "metrics", "stop"),
    "actors": ("actors",),
    "randomize": ("randomize",),
    "effects": ("effects", "hooks"),
    "localization": ("localization", "tracking"),
    "road": ("road",),
    "stack": ("stack",),
}
"""The top-level keys of a campaign on each page in ``campaign/``."""

USUAL_KEYS = {
    "": ("name", "seed", "repetitions", "control_period_s", "simulator"),
    "worlds": ("base", "obstacles", "count", "directory", "files"),
    "obstacles": ("type", "count", "region"),
    "robot": ("model", "start", "lidar", "max_linear_mps", "max_angular_radps"),
    "goal": ("x_m", "y_m", "tolerance_m"),
    "planners": ("name", "plugin", "parameters"),
    "limits": ("timeout_s", "stuck_window_s", "stuck_distance_m"),
    "actors": ("behavior", "count"),
    "stack": ("navigation",),
}
"""The keys at the start of the overview, by the path of their section."""

SELECTING_KEYS = ("behavior", "effect", "estimate", "kind", "term", "type")
"""The keys whose value selects the class of an entry."""
VARIANTS = {"Builtin": "Without `stack`", "Stack": "With `stack`"}
"""Names of classes of which a campaign has one or the other."""
VALUES = {one.__module__ for one in (Uniform, Rectangle, PoseSpec)}
"""The modules of classes that keys on several pages have as values."""


class Row(NamedTuple):
    """A key of a YAML file."""

    key: str
    type: str
    default: str
    meaning: str


class Group(NamedTuple):
    """The classes among which an entry at one YAML path selects, such as all actor types."""

    page: str
    heading: str
    path: str
    specs: List[Type[Spec]]
    meaning: str = ""


Places = Mapping[str, Tuple[Group, Type[Spec]]]


def field_texts(spec: Type[Spec]) -> Dict[str, str]:
    """Return the text below each field of a class and of its bases, by name."""
    texts: Dict[str, str] = {}
    for base in reversed(spec.__mro__):
        if not (issubclass(base, Spec) and base is not Spec):
            continue
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        assert isinstance(tree, ast.ClassDef)
        for field, text in zip(tree.body, tree.body[1:]):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(text, ast.Expr)
                and isinstance(text.value, ast.Constant)
            ):
                texts[field.target.id] = " ".join(str(text.value.value).split())
    return texts


def type_text(schema: Mapping[str, Any]) -> str:
    """Return a type as readers name it, with limits: ``number > 0``, ``list of PoseSpec``."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name.lower()})"
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            parts = [type_text(one) for one in schema[key] if one.get("type") != "null"]
            return " or ".join(OrderedDict.fromkeys(parts))
    kind = schema.get("type", "any")
    if kind == "array":
        items = schema.get("prefixItems")
        if items:
            return "[" + ", ".join(type_text(one) for one in items) + "]"
        return f"list of {type_text(schema.get('items', {}))}"
    if kind == "object":
        values = schema.get("additionalProperties")
        return f"mapping to {type_text(values)}" if isinstance(values, dict) else "mapping"
    signs = {"exclusiveMinimum": ">", "minimum": "≥", "exclusiveMaximum": "<", "maximum": "≤"}
    limits = [
        f"{sign} {number_text(schema[key])}"
        for key, sign in signs.items()
        if key in schema and schema[key] not in (-LARGEST, LARGEST)
    ]
    return " ".join([kind, ", ".join(limits)]).strip()


def number_text(value: float) -> str:
    """Return a limit; a large integer with all digits."""
    return str(value) if isinstance(value, int) else f"{value:g}"


def default_text(schema: Mapping[str, Any], required: bool) -> str:
    """Return a default in YAML's spelling."""
    if required:
        return "required"
    value = schema.get("default")
    value = schema.get("size") if value is None else value  # of an obstacle
    if value is None or value == {} or value == [] or value == "":
        return ""
    if isinstance(value, dict):
        return "see there"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


@functools.lru_cache(maxsize=None)
def schema_of(spec: Type[Spec]) -> Mapping[str, Any]:
    """Return the JSON schema of a class, with the schemas of the classes of its values."""
    return spec.model_json_schema()


def own_schema(spec: Type[Spec]) -> Mapping[str, Any]:
    """Return the JSON schema of a class without the schemas of other classes."""
    schema = schema_of(spec)
    own: Mapping[str, Any] = schema.get("$defs", {}).get(spec.__name__, schema)
    return own


@functools.lru_cache(maxsize=None)
def keys_of(spec: Type[Spec]) -> List[Row]:
    """Return a row for each key of a class."""
    schema = own_schema(spec)
    texts, required = field_texts(spec), schema.get("required", ())
    return [
        Row(
            key,
            type_text(value),
            default_text(value, key in required),
            texts.get(key) or sentence(value.get("description", "")),
        )
        for key, value in schema.get("properties", {}).items()
        if value.get("type") != "null"  # a key that must be absent
    ]


def sentence(text: str) -> str:
    """Return the description of an option as a sentence."""
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def title(spec: Type[Spec]) -> str:
    """Return the name of a class for readers: the value that selects it, or words."""
    for key, value in own_schema(spec).get("properties", {}).items():
        if key in SELECTING_KEYS and "const" in value:
            return f"`{key}: {value['const']}`"
    first, *words = re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z]+", spec.__name__)
    if words[1:] and first in VARIANTS:
        return VARIANTS[first]
    return " ".join([first, *words]).replace(" Spec", "").capitalize()


def values_of(spec: Type[Spec]) -> Iterator[Tuple[Row, List[Type[Spec]]]]:
    """Yield a row for each key of a class, and the classes of its values."""
    classes = {one.__name__: one for one in reached(spec)}
    for row in keys_of(spec):
        yield row, [classes[name] for name in re.findall(r"\[(\w+)\]\(#", row.type)]


def groups_at(group: Group, placed: Set[Type[Spec]]) -> List[Group]:
    """Return the groups at and below the path of a group, depth first, without ``placed`` classes.

    The classes of the returned groups are added to ``placed``.
    """
    specs = group.specs
    if ActorSpec in specs:
        specs = [*specs, *plugins(BEHAVIORS), PluginActorSpec]
    if ObstacleGroup in specs:
        specs = [*specs, *plugins(OBSTACLE_KINDS)]
    specs = [spec for spec in OrderedDict.fromkeys(specs) if spec not in placed]
    placed.update(specs)
    if not specs:
        return []
    groups = [group._replace(specs=specs, heading=group.heading or title(specs[0]))]
    for spec in specs:
        for row, classes in values_of(spec):
            path = f"{group.path}.{row.key}".lstrip(".")
            groups += groups_at(Group(group.page, f"`{path}`", path, classes, row.meaning), placed)
    return groups


@functools.lru_cache(maxsize=1)
def campaign_groups() -> List[Group]:
    """Return the groups of the overview and of the pages in ``campaign/``."""
    roots: List[Type[Spec]] = [BuiltinCampaignSpec, StackCampaignSpec]
    groups = [Group("campaign.md", "All top-level keys", "", roots)]
    sections: Dict[str, Group] = {}
    for row, classes in (value for root in roots for value in values_of(root)):
        page = next((name for name, keys in CAMPAIGN_PAGES.items() if row.key in keys), "")
        empty = Group(f"campaign/{page}.md", f"`{row.key}`", row.key, [], row.meaning)
        sections.setdefault(row.key, empty).specs.extend(classes)
    obstacles = Group("campaign/obstacles.md", "Obstacle specification", "", [ObstacleSpec])
    values = [one for one in reached(*roots) if one.__module__ in VALUES]
    ranges = [one for one in values if one.__module__ == Uniform.__module__]
    text = "A constant, a range `[min, max]`, or a mapping with the keys of one distribution."
    shared = Group("campaign/values.md", "Distribution", "", ranges, text)
    placed = {
        *values,
        ObstacleSpec,
        *(spec for section in sections.values() for spec in section.specs),
    }
    for keys in CAMPAIGN_PAGES.values():
        for key in keys:
            placed -= set(sections[key].specs)
            groups += groups_at(sections[key], placed)
            if key == "worlds":
                groups += groups_at(obstacles, placed - {ObstacleSpec})
    others = [shared._replace(heading=title(one), specs=[one]) for one in values]
    return [*groups, shared, *(group for group in others if group.specs[0] not in ranges)]


def groups_of_extra(extra: str) -> List[Group]:
    """Return the groups with keys of the files and plug-ins of an extra."""
    placed = {spec for group in campaign_groups() for spec in group.specs}
    groups = []
    for registry in (BEHAVIORS, WORLD_SOURCES, ESTIMATES, OBSTACLE_KINDS):
        specs = plugins(registry, extra)
        heading = f"{registry.kind}s".replace("_", " ").capitalize() if specs[1:] else ""
        groups.append(Group(f"{extra}.md", heading, "", specs))
    if extra in ROOTS_OF_EXTRAS:
        name, module = ROOTS_OF_EXTRAS[extra]
        root = getattr(importlib.import_module(module), name)
        groups.insert(0, Group(f"{extra}.md", "", "", [root]))
    return [below for group in groups for below in groups_at(group, placed)]


def members_of(group: Group) -> List[Type[Spec]]:
    """Return the classes of a group with a separate section: not a single or base class."""
    first, *others = group.specs
    return others if all(issubclass(spec, first) for spec in others) else group.specs


def group_text(group: Group, places: Places) -> str:
    """Return the section of a group: the common keys, then those of each class.

    A key of a documented base class outside of the group is described only there.
    """
    first, members = group.specs[0], members_of(group)
    documented = {spec for _, spec in places.values()}
    bases = [one for one in first.__mro__ if one in documented and one not in group.specs]
    inherited = {row for base in bases for row in keys_of(base)}
    rows = {
        spec: [
            row._replace(type=linked(row.type, group.page, places))
            for row in keys_of(spec)
            if row not in inherited and not title(spec).startswith(f"`{row.key}: ")
        ]
        for spec in group.specs
    }
    uses = Counter(row for spec in group.specs for row in rows[spec])
    own = () if first in members else rows[first]
    common = [row for row in uses if uses[row] > 1 or row in own]
    users = {
        row: [re.sub(r"`\w+: ", "`", title(spec)) for spec in members if row in rows[spec]]
        for row in common
        if row not in own and uses[row] < len(members)
    }
    names = ", ".join(f"[keys of {base.__name__}](#{base.__name__})" for base in bases)
    lines = [
        f"## {group.heading}",
        group.meaning if first in members else inspect.cleandoc(first.__doc__ or ""),
        linked(f"Other keys: {names}.", group.page, places) if names else "",
        key_table(common, users),
    ]
    for spec in members:
        lines += [f"### {title(spec)}", inspect.cleandoc(spec.__doc__ or "")]
        lines.append(key_table([row for row in rows[spec] if row not in common], {}))
    return "\n\n".join(filter(None, lines)) + "\n"


def key_table(rows: List[Row], users: Mapping[Row, List[str]]) -> str:
    """Return the table of keys; ``users`` are the names of the classes with a key, if not all."""
    header, cells = "key | type | default | meaning", [(f"`{row.key}`", *row[1:]) for row in rows]
    if users:
        header = f"{header} | only for"
        cells = [(*one, ", ".join(users.get(row, ()))) for one, row in zip(cells, rows)]
    return "\n".join(table(header, cells)) if rows else ""


def places_of(groups: Iterable[Group]) -> Places:
    """Return the group and the class of each class name."""
    return {spec.__name__: (group, spec) for group in groups for spec in group.specs}


def linked(text: str, page: str, places: Places) -> str:
    """Return a text on a page with links to the sections of classes in place of their names."""

    def link(match: "re.Match[str]") -> str:
        group, spec = places[match[2]]
        is_member = spec in members_of(group) and title(spec) not in VARIANTS.values()
        heading = title(spec) if match[1] and is_member else group.heading
        label = heading if match[1] else "mapping" if group.path else heading.lower()
        file = "" if group.page == page else posixpath.relpath(group.page, posixpath.dirname(page))
        return f"[{label}]({file}#{slug(heading)})"

    text = re.sub(r"\[(keys of )?(\w+)\]\(#\w+\)", link, text)
    return re.sub(r"(\[[\w ]+\]\([^)]*\))( or \1)+", r"\1", text)


def slug(heading: str) -> str:
    """Return the anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def usual_keys() -> List[str]:
    """Return the table of the keys that most campaigns have."""
    groups = {group.path: group for group in reversed(campaign_groups()) if group.path}
    groups[""] = campaign_groups()[0]
    rows = []
    for path, keys in USUAL_KEYS.items():
        group = groups[path]
        known = {row.key: row for spec in reversed(group.specs) for row in keys_of(spec)}
        for row in map(known.__getitem__, keys):
            file = group.page if path else ""
            name = f"{path}.{row.key}".lstrip(".")
            link = f"[`{name}`]({file}#{slug(group.heading)})"
            rows.append((link, row.default, row.meaning))
    return table("key | default | meaning", rows)


def table(header: str, rows: Iterable[Tuple[str, ...]]) -> List[str]:
    """Return the lines of a table."""
    lines = [f"| {header} |", "|" + "---|" * len(header.split(" | "))]
    return lines + ["| " + " | ".join(map(cell, row)) + " |" for row in rows]


def cell(text: str) -> str:
    """Return a text that is safe in a table: ``|`` escaped, references of docstrings as code."""
    text = re.sub(r":\w+:`~?(?:[\w.]+\.)?(\w+)`", r"`\1`", text)
    return text.replace("``", "`").replace("|", "\\|")


def reached(*roots: Type[Spec]) -> List[Type[Spec]]:
    """Return the roots and all classes that their keys refer to, each once, roots first."""
    folder = roots[0].__module__.rpartition(".")[0]
    classes = {  # a class of the roots' own folder is preferred: names can repeat in extras
        one.__name__: one
        for one in sorted(_subclasses(Spec), key=lambda one: one.__module__.startswith(folder))
        if ".extras." not in one.__module__ or one.__module__.startswith(folder)
    }
    found: Dict[str, Type[Spec]] = {}
    for root in roots:
        found[root.__name__] = root
        for name in schema_of(root).get("$defs", {}):
            found.setdefault(name, classes[name])
    return list(found.values())


def _subclasses(one: Type[Spec]) -> Iterator[Type[Spec]]:
    for sub in one.__subclasses__():
        yield sub
        yield from _subclasses(sub)


def plugins(registry: Registry, extra: str = "") -> List[Type[Spec]]:
    """Return the specification classes of a registry: those of the core, or those of an extra."""
    group = extra_plugins().get(f"gz_testauto.{registry.kind.replace(' ', '_')}s", {})
    names = [name for name in registry.names() if group.get(name, ("",))[0] == extra]
    found = [getattr(one, "spec_type", one) for one in map(registry.get, names)]
    return [one for one in found if isinstance(one, type) and issubclass(one, Spec)]
