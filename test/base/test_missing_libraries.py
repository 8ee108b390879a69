import pytest

from gz_testauto.base.errors import MissingDependencyError
from gz_testauto.base.installation import importing


def test_a_missing_library_is_reported_with_the_installation_of_its_extra():
    message = r"^plots need it, which cannot be imported \(.*absent_library.*\); .*\[plot\]"
    with pytest.raises(MissingDependencyError, match=message), importing("plots need it", "plot"):
        import absent_library  # noqa: F401
