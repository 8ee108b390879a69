import importlib.util
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[3]
EXAMPLES = CHECKOUT / "config" / "scenic"

BOX = """<?xml version="1.0"?><sdf version="1.6"><model name="{name}"><static>{static}</static>
<link name="l"><pose>{pose}</pose>
<inertial><mass>2</mass><inertia><ixx>0.1</ixx><iyy>0.2</iyy><izz>0.3</izz></inertia></inertial>
<collision name="c"><geometry><box><size>{size}</size></box></geometry></collision>
<visual name="v"><geometry><box><size>{size}</size></box></geometry></visual></link></model>
</sdf>"""


def pytest_collection_modifyitems(items):
    if importlib.util.find_spec("scenic") is not None:
        return
    skip = pytest.mark.skip(reason="needs Scenic 3: pip install 'gz_testauto[scenic]'")
    for item in items:
        if "needs_scenic" in item.fixturenames:
            item.add_marker(skip)


@pytest.fixture
def needs_scenic():
    """Scenic 3 is installed."""


@pytest.fixture
def workshop(tmp_path):
    """A folder with a descriptor and models, to which tests add."""
    return Workshop(tmp_path)


class Workshop:
    def __init__(self, folder):
        self.folder = folder
        self.descriptor = folder / "models.yaml"
        self.models = []

    def model(self, name, sdf, **keys):
        """Add a model and its entry."""
        place = self.folder / "parts" / name
        place.mkdir(parents=True)
        (place / "model.sdf").write_text(sdf)
        self.entry(name, "CUSTOM_MODEL", **keys)

    def box(self, name, size, pose="0 0 0 0 0 0", static="true", **keys):
        """Add a box; its link is at ``pose``."""
        self.model(name, BOX.format(name=name, size=size, pose=pose, static=static), **keys)

    def entry(self, name, type_, **keys):
        """Add an entry, and write the descriptor."""
        import yaml

        self.models.append({"name": name, "type": type_, **keys})
        (self.folder / "parts").mkdir(exist_ok=True)
        data = {"models_dir": "parts", "models": self.models}
        self.descriptor.write_text(yaml.safe_dump(data))

    def scenario(self, text, name="test.scenic"):
        """Write a scenario."""
        path = self.folder / name
        path.write_text(text)
        return path

    def source(self, text, seed=1, **options):
        """A source of worlds from a scenario's text."""
        from gz_testauto.extras.scenic.source import ScenicSource

        if not self.descriptor.exists():
            self.entry("waypoint", "MISSION_ONLY")
        return ScenicSource(self.scenario(text), self.descriptor, seed, **options)
