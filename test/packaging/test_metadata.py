"""The metadata in package.xml, pyproject.toml, setup.py and the code agree."""

import re
import runpy
from pathlib import Path
from xml.etree import ElementTree

import yaml

import gz_testauto
from gz_testauto.cli import doctor

CHECKOUT = Path(__file__).resolve().parents[2]
CHANGELOG = (CHECKOUT / "CHANGELOG.md").read_text()
NEWEST = r"^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)$"
MANIFEST = ElementTree.parse(str(CHECKOUT / "package.xml"))
# Python 3.8 has no TOML reader; a requirement is a quoted string alone on its line, or in a list.
REQUIREMENT = re.compile(r'"([\w_]+)(>=[\w.]+)?(,<[\w.]+)?(?:; python_version [^"]+)?"')


def requirements(first, last):
    text = (CHECKOUT / "pyproject.toml").read_text()
    return REQUIREMENT.findall(text[text.index(first) : text.index(last)])


def test_all_metadata_files_state_the_same_version():
    newest, date = re.search(NEWEST, CHANGELOG, re.MULTILINE).groups()
    citation = yaml.safe_load((CHECKOUT / "CITATION.cff").read_text())
    images = (CHECKOUT / "docs" / "containers.md").read_text()
    found = {
        "package.xml": MANIFEST.findtext("version"),
        "CHANGELOG.md": newest,
        "CITATION.cff": citation["version"],
        **{f"image {name}": name for name in re.findall(r"gz_testauto:([\d.]+)", images)},
    }
    assert found == dict.fromkeys(found, gz_testauto.__version__)
    assert len(found) == 4
    assert str(citation["date-released"]) == date


def test_changelog_has_the_sections_of_keep_a_changelog():
    text = CHANGELOG[re.search(NEWEST, CHANGELOG, re.MULTILINE).start() :]
    release = re.split(r"^## ", text, flags=re.MULTILINE)[1]
    sections = re.findall(r"^### (.+)$", release, re.MULTILINE)
    assert sections
    assert set(sections) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_every_dependency_has_a_lower_and_an_upper_bound():
    found = requirements("dependencies = [", "[tool.")
    assert len(found) >= 10
    assert [name for name, lower, upper in found if not (lower and upper)] == []


def test_doctor_checks_every_dependency():
    found = requirements("dependencies = [", "[project.optional-dependencies]")
    assert {name for name, _, _ in found} == {*doctor.LIBRARIES, "setuptools", "importlib_metadata"}


def test_every_imported_ros_package_is_declared():
    source = CHECKOUT / "src" / "gz_testauto"
    imports = re.compile(r"^\s*(?:import|from) (\w+_msgs|std_srvs|actionlib|rospy|tf2_ros)\b", re.M)
    imported = {name for path in source.rglob("*.py") for name in imports.findall(path.read_text())}
    declared = {element.text for element in MANIFEST.getroot() if element.tag.endswith("depend")}
    assert imported - declared == set()


def test_wheel_has_no_caches_and_every_folder_with_files_is_a_package(monkeypatch):
    """A folder that is no package, and each cache, causes a page of warnings by setuptools."""
    declared = {}
    monkeypatch.setattr("setuptools.setup", declared.update)
    monkeypatch.chdir(CHECKOUT)
    runpy.run_path(str(CHECKOUT / "setup.py"))
    files = map(Path, declared["package_data"]["gz_testauto"])
    folders = {".".join(("gz_testauto", *file.parent.parts)) for file in files}
    assert folders <= {*declared["packages"]}
    assert not any("__pycache__" in folder for folder in folders)
