"""What a simulator leaves out of a model is logged under the name of what it belongs to."""

import pytest

from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.engine_model.coverage import SdfCoverage
from gz_testauto.sdf.scene import read_scene

MODEL = """<sdf version="1.6"><world name="w"><model name="crate"><link name="body">
<collision name="hull"><geometry><box><size>1 1 1</size></box></geometry>
<surface><contact><ode><min_depth>0.001</min_depth></ode></contact></surface></collision>
<unknown/><sensor name="eye" type="camera"/></link></model></world></sdf>"""


@pytest.mark.parametrize(
    "said",
    [
        "<ode> of contact of collision 'hull' of model 'crate' is not simulated by 'embedded'",
        "<unknown> of link 'body' is not simulated",
        "sensor 'eye' (camera) is not simulated",
    ],
)
def test_an_element_that_is_left_out_is_named_by_its_owner(caplog, said):
    (crate,) = read_scene(SdfDocument.parse(MODEL, "crate.world")).models.values()
    SdfCoverage("embedded").check_model(crate.node)
    assert said in caplog.text
