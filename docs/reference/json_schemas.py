"""Generate the JSON schemas of the manifest and of the JSON export from the classes in the code.

The schemas describe written files: each field is present, and there are no other fields.
"""

import inspect
import json
from typing import Any, Dict, Union

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from gz_testauto.report.export import CampaignExport, ComparisonExport
from gz_testauto.results.manifest import ManifestFile

SCHEMAS = {
    "results/manifest.v1.schema.json": ManifestFile,
    "report/export.v1.schema.json": Union[CampaignExport, ComparisonExport],
}
"""The described types, by the file of their schema in the package."""


class _WrittenFile(GenerateJsonSchema):
    """A generator of schemas for the JSON text that ``to_json`` and manifests contain."""

    def float_schema(self, schema: Any) -> JsonSchemaValue:
        """Return the schema of a number, which is null if it is not finite."""
        return {"anyOf": [super().float_schema(schema), {"type": "null"}]}

    def field_is_required(self, *_: Any, **__: Any) -> bool:
        """Return true, since each field is written."""
        return True

    def dataclass_schema(self, schema: Any) -> JsonSchemaValue:
        """Return the schema of an object without other fields."""
        return self._closed(super().dataclass_schema(schema))

    def model_schema(self, schema: Any) -> JsonSchemaValue:
        """Return the schema of an object without other fields."""
        return self._closed(super().model_schema(schema))

    def named_tuple_schema(self, schema: Any) -> JsonSchemaValue:
        """Return the schema of a named tuple, which is written as an object."""
        properties = {one["name"]: self.generate_inner(one["schema"]) for one in schema["fields"]}
        described = {"description": inspect.cleandoc(schema["cls"].__doc__), "type": "object"}
        named = {"properties": properties, "required": list(properties)}
        return self._closed({**described, **named, "title": schema["cls"].__name__})

    @staticmethod
    def _closed(schema: JsonSchemaValue) -> JsonSchemaValue:
        return {**schema, "additionalProperties": False}

    def default_schema(self, schema: Any) -> JsonSchemaValue:
        """Return the schema without a default, which written files do not use."""
        return self.generate_inner(schema["schema"])

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Return false, since the title would repeat the name of the field."""
        return False


def schema_of(written: Any, file: str) -> Dict[str, Any]:
    """Return the JSON schema of a type."""
    schema = TypeAdapter(written).json_schema(schema_generator=_WrittenFile, mode="serialization")
    name = file.rpartition("/")[2]
    return {"$schema": GenerateJsonSchema.schema_dialect, "$id": f"gz_testauto:{name}", **schema}


def schema_texts() -> Dict[str, str]:
    """Return the text of each schema, by its file in the package."""
    return {
        file: json.dumps(schema_of(written, file), indent=1, ensure_ascii=False) + "\n"
        for file, written in SCHEMAS.items()
    }
