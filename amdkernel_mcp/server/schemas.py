"""The schemas that clients see: an optional parameter has one type, so that typed clients can show and fill it.

None has references, which some clients cannot follow.

The server still takes an explicit null: it validates by the tool's own signature, not by this schema.
"""

from collections.abc import Sequence
from typing import Any

from fastmcp.resources import Resource, ResourceTemplate
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import Tool
from mcp_types import ListResourcesRequest, ListResourceTemplatesRequest, ListToolsRequest

# Claude Code then has the tools in its prompt from the first turn, however the server was added to it.
_META = {"anthropic/alwaysLoad": True}
# The server enforces these, and its error names them; in every prompt they would cost more than they bring.
_LIMITS = ("minLength", "maxLength", "maxItems", "minimum", "maximum")


class PlainSchemas(Middleware):
    """Lists every tool with plain parameters."""

    async def on_list_tools(
        self, context: MiddlewareContext[ListToolsRequest], call_next: CallNext[ListToolsRequest, Sequence[Tool]]
    ) -> Sequence[Tool]:
        """The tools, with `anyOf: [TYPE, null]` replaced by TYPE and without `default: null`."""
        return [
            tool.model_copy(
                update={
                    "parameters": plain(inlined(tool.parameters)),
                    "output_schema": tool.output_schema and inlined(tool.output_schema),
                    "meta": {**(tool.meta or {}), **_META},
                }
            )
            for tool in await call_next(context)
        ]


class UnlistedReports(Middleware):
    """Lists no `ui://` resource: a tool names it to the clients that can show one, and the others see what they did."""

    async def on_list_resources(
        self,
        context: MiddlewareContext[ListResourcesRequest],
        call_next: CallNext[ListResourcesRequest, Sequence[Resource]],
    ) -> Sequence[Resource]:
        """The resources that a user attaches."""
        return [each for each in await call_next(context) if not str(each.uri).startswith("ui://")]

    async def on_list_resource_templates(
        self,
        context: MiddlewareContext[ListResourceTemplatesRequest],
        call_next: CallNext[ListResourceTemplatesRequest, Sequence[ResourceTemplate]],
    ) -> Sequence[ResourceTemplate]:
        """The same of templates."""
        return [each for each in await call_next(context) if not each.uri_template.startswith("ui://")]


def inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with each definition in place of the references to it; what a reference adds is kept."""
    definitions = schema.get("$defs", {})

    def resolved(part: Any) -> Any:
        if isinstance(part, list):
            return [resolved(each) for each in part]
        if not isinstance(part, dict):
            return part
        own = {key: resolved(each) for key, each in part.items() if key not in ("$ref", "$defs")}
        if "$ref" not in part:
            return own
        return resolved(definitions[part["$ref"].removeprefix("#/$defs/")]) | own

    whole: dict[str, Any] = resolved(schema)
    return whole


def plain(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of an object whose optional properties have one type each."""
    kept = {key: value for key, value in schema.items() if key != "additionalProperties"}
    return kept | {"properties": {name: _plain_property(each) for name, each in schema["properties"].items()}}


def _plain_property(schema: dict[str, Any]) -> dict[str, Any]:
    schema = {key: value for key, value in _one_type(schema).items() if key not in _LIMITS}
    if "items" in schema:
        schema["items"] = {key: value for key, value in schema["items"].items() if key not in _LIMITS}
    return schema


def _one_type(schema: dict[str, Any]) -> dict[str, Any]:
    others = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    if len(others) != 1 or len(schema["anyOf"]) != 2:
        return schema
    kept: dict[str, Any] = {
        key: value for key, value in schema.items() if key != "anyOf" and (key, value) != ("default", None)
    }
    return {**others[0], **kept}
