"""The generated reference pages agree with the code."""

import importlib.util
import posixpath
import re
import sys
from pathlib import Path

import pytest
from test_documents import anchor_of

GENERATOR = Path(__file__).resolve().parents[2] / "docs" / "reference" / "generate.py"


@pytest.fixture(scope="module")
def reference():
    spec = importlib.util.spec_from_file_location("generate", GENERATOR)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(
    not (3, 10) <= sys.version_info < (3, 13), reason="argparse formats help differently"
)
def test_each_reference_page_equals_the_generated_page(reference, capsys):
    assert reference.main(["--check"]) == 0, (
        capsys.readouterr().out + "run ./bootstrap exec python3 docs/reference/generate.py"
    )


def test_each_type_of_a_yaml_key_has_a_section_in_the_reference(reference):
    pages = reference.pages()
    for name, text in pages.items():
        for page, anchor in re.findall(r"\]\(([\w./]*)#([\w-]+)\)", text):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), page))
            if target.startswith("../"):
                continue  # not generated
            linked = pages[target if page else name]
            anchors = [*map(anchor_of, re.findall(r"^###? (.+)$", linked, re.MULTILINE))]
            assert anchors.count(anchor) == 1, f"{name}: {page}#{anchor}"


def test_each_key_of_a_campaign_is_on_the_page_of_its_section(reference):
    pages = reference.pages()
    text = pages["campaign.md"]
    assert text.index("## Usual keys") < text.index("## All top-level keys")
    for section, nested in (
        ("worlds", "worlds.files.random_numbers"),
        ("robot", "robot.drive"),
        ("actors", "behavior: wander"),
        ("obstacles", "type: box"),
    ):
        page = pages[f"campaign/{section}.md"]
        assert page.index(f"## `{section}`\n") < page.index(f"## `{nested}`\n")


def test_the_keys_of_a_base_class_are_described_once(reference):
    text = "".join(reference.campaign_pages().values())
    assert text.count("Labels by which the behaviors of other actors select this actor.") == 1
    assert text.count("Accepted distances (m) from the outline of the obstacle") == 1


def test_each_yaml_key_of_core_and_extras_is_documented(reference):
    assert reference.undocumented() == []


def test_parameters_topics_services_and_launch_arguments_are_documented(reference):
    assert reference.undocumented_in_ros() == []


def test_a_removed_name_of_the_interfaces_is_detected_and_kept_on_the_page(reference):
    import interfaces

    current = {"Commands": {"run": {"--out", "status 0"}, "new": {"--out"}}}
    text = (
        "## Commands\n\n- `run`: `--fast` `--out`\n- `old`: `DIR`\n\n## Extra gone\n\n- `x`: `y`\n"
    )
    stored = interfaces.read_page(text)
    removed = interfaces.removed_names(stored, current)
    assert removed == ["Commands: old", "Commands: run: --fast"]
    merged = interfaces.merged(stored, current)
    assert merged["Commands"]["run"] == {"--fast", "--out", "status 0"}
    assert interfaces.section_text(merged["Commands"])[-1] == "- `run`: `--fast` `--out` `status 0`"
    assert merged["Extra gone"] == {"x": {"y"}}  # an extra can be deleted


def test_no_name_of_the_interfaces_has_disappeared(reference):
    assert reference.removed_interfaces() == []


def test_interfaces_contain_each_kind_of_name(reference):
    found = reference.interfaces()
    assert {"--out", "campaign", "status 1", "status 143"} <= found["Commands"]["run"]
    assert "count" in found["YAML keys"]["worlds"]
    assert "per_100_m2" in set().union(*found["YAML keys"].values())
    assert all(
        {"--min-success", "status 3"} <= found[s]["gate"] for s in found if s == "Extra gate"
    )
    assert any(names for entry, names in found["ROS"].items() if entry.endswith(".launch"))
    assert "run" in found["Python"]["gz_testauto"]
