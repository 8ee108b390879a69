import re

import pytest

from gz_testauto.base.errors import MissingDependencyError
from gz_testauto.base.installation import importing, install_command


def test_a_missing_library_is_reported_with_the_installation_of_its_extra():
    remedy = re.escape(install_command("plot"))
    message = rf"^plots need it, which cannot be imported \(.*absent_library.*\); .*{remedy}"
    with pytest.raises(MissingDependencyError, match=message), importing("plots need it", "plot"):
        import absent_library  # noqa: F401
