"""The generated reference pages agree with the code."""

import importlib.util
import sys
from pathlib import Path

import pytest

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
        for page, anchor in reference.re.findall(r"\]\(([\w.]*)#(\w+)\)", text):
            assert anchor in reference.headings(pages[page or name]), f"{name}: #{anchor}"


def test_each_yaml_key_of_core_and_extras_is_documented(reference):
    assert reference.undocumented() == []


def test_parameters_topics_services_and_launch_arguments_are_documented(reference):
    assert reference.undocumented_in_ros() == []
