"""Options that are declared once, for the command line and for ROS nodes.

:mod:`gz_testauto.cli.options` declares the arguments of a command from the fields, and
:mod:`gz_testauto.ros.interface` the parameters of a node.
"""

from typing import Any, Tuple

from pydantic import BeforeValidator, Field, ValidationError
from typing_extensions import Annotated, Self

from gz_testauto.base.errors import SpecError
from gz_testauto.spec.loader import fault_text
from gz_testauto.spec.model import Spec, as_tuple


class Options(Spec):
    """The base class of options. An option with the default ``()`` can be repeated."""

    @classmethod
    def name_of(cls, field: str) -> str:
        """Return the name of an option as the user writes it, such as ``--max-invalid``, or in a
        node ``~max_invalid``. On the command line, a repeatable option is singular."""
        is_plural = cls.model_fields[field].default == () and field.endswith("s")
        return "--" + (field[:-1] if is_plural else field).rstrip("_").replace("_", "-")

    @classmethod
    def of(cls, **values: Any) -> Self:
        """Return the options with these values. Raises ``SpecError`` with all invalid options."""
        try:
            return cls.model_validate(values)
        except ValidationError as invalid:
            faults = [fault_text(cls.name_of(str(e["loc"][0])), e) for e in invalid.errors()]
            raise SpecError("\n".join(faults)) from None


def option(default: Any, metavar: str, description: str, **limits: Any) -> Any:
    """Return a field of :class:`Options`. ``metavar`` represents its value in ``--help``, and
    ``limits`` are arguments of pydantic's ``Field``."""
    return Field(default, description=description, json_schema_extra={"metavar": metavar}, **limits)


def _parse_names(value: Any) -> Any:
    return tuple(value.replace(",", " ").split()) if isinstance(value, str) else as_tuple(value)


Names = Annotated[Tuple[str, ...], BeforeValidator(_parse_names)]
"""Names as a list, or as text that commas or blanks separate."""
