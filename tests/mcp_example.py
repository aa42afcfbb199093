"""The example server that the MCP project's conformance suite asks for, to stand behind our door.

The names and the words are the suite's. It is no part of turnlog: it shows that the door carries
all of the protocol.
"""

import base64
import json
import warnings
from contextlib import contextmanager

import mcp_types as m
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPDeprecationWarning

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="  # noqa: E501 - a picture
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
SIMPLE = "This is a simple text response for testing."
IMAGE = m.ImageContent(data=PNG, mime_type="image/png")


def text(words):
    return m.TextContent(text=words)


def resource(uri, words, mime_type="text/plain"):
    inner = m.TextResourceContents(uri=uri, text=words, mime_type=mime_type)
    return m.EmbeddedResource(resource=inner)


@contextmanager
def old_features():
    """Logging and sampling are on their way out of the protocol; the suite still has them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        yield


async def log(ctx, *lines):
    with old_features():
        for line in lines:
            await ctx.session.send_log_message("info", line, related_request_id=ctx.request_id)


# tools: what each answers


async def logging(ctx, args):
    await log(ctx, "Tool execution started", "Tool processing data", "Tool execution completed")
    return [text("done")]


async def progress(ctx, args):
    for done in (0, 50, 100):
        await ctx.session.report_progress(done, 100, f"Completed step {done} of 100")
    return [text("done")]


async def sampling(ctx, args):
    message = m.SamplingMessage(role="user", content=text(args["prompt"]))
    with old_features():
        result = await ctx.session.create_message(
            [message], max_tokens=100, related_request_id=ctx.request_id
        )
    return [text(f"LLM response: {result.content.text}")]


async def failing(ctx, args):
    return m.CallToolResult(
        content=[text("This tool intentionally returns an error for testing")], is_error=True
    )


async def reconnecting(ctx, args):
    await log(ctx, "Before disconnect")
    if ctx.close_sse_stream is not None:  # the suite calls this with a revision that has none
        await ctx.close_sse_stream()
    await log(ctx, "After reconnect")
    return [text("Reconnection test completed")]


def eliciting(properties, message=None):
    async def ask(ctx, args):
        schema = {"type": "object", "properties": properties, "required": list(properties)}
        result = await ctx.session.elicit_form(
            args.get("message") or message, schema, related_request_id=ctx.request_id
        )
        content = json.dumps(result.content or {})
        return [text(f"User response: action={result.action}, content={content}")]

    return ask


def saying(*content):
    async def say(ctx, args):
        return list(content)

    return say


STATES = ["active", "inactive", "pending"]
DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": STATES, "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
TITLED = [{"const": "low", "title": "Low"}, {"const": "high", "title": "High"}]
ENUMS = {
    "untitledSingle": {"type": "string", "enum": STATES},
    "titledSingle": {"type": "string", "oneOf": TITLED},
    "legacyEnum": {"type": "string", "enum": ["s", "m"], "enumNames": ["Small", "Medium"]},
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["read", "write"]}},
    "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
}
MIXED = resource("test://mixed-content-resource", '{"test": "data"}', "application/json")
# fmt: off
TOOLS = {
    "test_simple_text":                  saying(text(SIMPLE)),
    "test_image_content":                saying(IMAGE),
    "test_audio_content":                saying(m.AudioContent(data=WAV, mime_type="audio/wav")),
    "test_embedded_resource":            saying(resource("test://embedded-resource", "Content.")),
    "test_multiple_content_types":       saying(text("Multiple content types test:"), IMAGE, MIXED),
    "test_tool_with_logging":            logging,
    "test_tool_with_progress":           progress,
    "test_sampling":                     sampling,
    "test_elicitation":                  eliciting({"response": {"type": "string"}}),
    "test_elicitation_sep1034_defaults": eliciting(DEFAULTS, "Please provide user information"),
    "test_elicitation_sep1330_enums":    eliciting(ENUMS, "Please select values"),
    "test_error_handling":               failing,
    "test_reconnection":                 reconnecting,
    "json_schema_2020_12_tool":          saying(text("It has a schema.")),
}
# fmt: on
ADDRESS = {"type": "object", "properties": {"street": {"type": "string"}}}
SCHEMAS = {
    "json_schema_2020_12_tool": {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {"$anchor": "addressDef", **ADDRESS}},
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
}


async def list_tools(ctx, params):
    tools = [
        m.Tool(name=name, description=name, input_schema=SCHEMAS.get(name, {"type": "object"}))
        for name in TOOLS
    ]
    return m.ListToolsResult(tools=tools)


async def call_tool(ctx, params):
    result = await TOOLS[params.name](ctx, params.arguments or {})
    return result if isinstance(result, m.CallToolResult) else m.CallToolResult(content=result)


# resources

RESOURCES = {
    "test://static-text": "This is the content of the static text resource.",
    "test://static-binary": base64.b64decode(PNG),
    "test://watched-resource": "Watched resource content",
}


async def list_resources(ctx, params):
    found = [m.Resource(uri=uri, name=uri, mime_type="text/plain") for uri in RESOURCES]
    return m.ListResourcesResult(resources=found)


async def list_templates(ctx, params):
    template = m.ResourceTemplate(uri_template="test://template/{id}/data", name="template")
    return m.ListResourceTemplatesResult(resource_templates=[template])


async def read_resource(ctx, params):
    uri = str(params.uri)
    value = RESOURCES.get(uri)
    if uri.startswith("test://template/"):
        name = uri.split("/")[3]
        value = json.dumps({"id": name, "templateTest": True, "data": f"Data for ID: {name}"})
    if isinstance(value, bytes):
        blob = base64.b64encode(value).decode()
        inner = m.BlobResourceContents(uri=uri, blob=blob, mime_type="image/png")
    else:
        inner = m.TextResourceContents(uri=uri, text=value, mime_type="text/plain")
    return m.ReadResourceResult(contents=[inner])


async def nothing(ctx, params):
    return m.EmptyResult()


# prompts

ARGUMENTS = {
    "test_simple_prompt": [],
    "test_prompt_with_arguments": ["arg1", "arg2"],
    "test_prompt_with_embedded_resource": ["resourceUri"],
    "test_prompt_with_image": [],
}


async def list_prompts(ctx, params):
    found = [
        m.Prompt(
            name=name,
            description=name,
            arguments=[m.PromptArgument(name=each, required=True) for each in arguments],
        )
        for name, arguments in ARGUMENTS.items()
    ]
    return m.ListPromptsResult(prompts=found)


async def get_prompt(ctx, params):
    args = params.arguments or {}
    words = "This is a simple prompt for testing."
    if "arg1" in args:
        words = f"Prompt with arguments: arg1='{args['arg1']}', arg2='{args['arg2']}'"
    first = {
        "test_prompt_with_embedded_resource": resource(args.get("resourceUri", "x:"), "Embedded"),
        "test_prompt_with_image": IMAGE,
    }.get(params.name)
    content = [text(words)] if first is None else [first, text("Please look at this.")]
    return m.GetPromptResult(messages=[m.PromptMessage(role="user", content=c) for c in content])


async def complete(ctx, params):
    return m.CompleteResult(completion=m.Completion(values=[], total=0, has_more=False))


def server_of(offer, agents):
    """Instead of turnlog.transports.mcp.server.server_of."""
    with old_features():
        return Server(
            "example",
            version="1",
            on_list_tools=list_tools,
            on_call_tool=call_tool,
            on_list_resources=list_resources,
            on_list_resource_templates=list_templates,
            on_read_resource=read_resource,
            on_subscribe_resource=nothing,
            on_unsubscribe_resource=nothing,
            on_list_prompts=list_prompts,
            on_get_prompt=get_prompt,
            on_completion=complete,
            on_set_logging_level=nothing,
        )
