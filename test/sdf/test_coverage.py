"""Ignored elements of a model are logged with the name of their parent."""

import pytest

from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.engine_model.coverage import SdfCoverage
from gz_testauto.sdf.scene import read_scene

MODEL = """<sdf version="1.6"><world name="w"><model name="crate"><link name="body">
<collision name="hull"><geometry><box><size>1 1 1</size></box></geometry>
<surface><contact><ode><min_depth>0.001</min_depth></ode></contact></surface></collision>
<unknown/><sensor name="eye" type="camera"/></link></model></world></sdf>"""


@pytest.mark.parametrize(
    "message",
    [
        "<ode> of contact of collision 'hull' of model 'crate'",
        "<unknown> of link 'body'",
        "sensor 'eye' (camera)",
    ],
)
def test_ignored_element_is_reported_with_the_name_of_its_parent(caplog, message):
    (crate,) = read_scene(SdfDocument.parse(MODEL, "crate.world")).models.values()
    SdfCoverage("embedded").check_model(crate.node)
    assert message in caplog.text
