"""What modern_server.py offers beside its simple tools, as features.json describes it."""

import base64
import json
import warnings
from pathlib import Path

import mcp.types as types
from mcp.server.extension import Extension
from mcp.server.mcpserver import Context
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

FEATURES = json.loads(Path(__file__).with_name("features.json").read_text())
clicks = 0
# The SDK warns about features that are to be removed.
warnings.simplefilter("ignore")


class Unknown(Extension):
    """An extension that nobody knows."""

    identifier, _settings = next(iter(FEATURES["extensions"].items()))

    def settings(self):
        return self._settings


def options(name):
    """The arguments of `server.tool` for a tool of features.json."""
    tool = FEATURES["tools"][name]
    annotations = types.ToolAnnotations.model_validate(tool["annotations"]) if "annotations" in tool else None
    return {
        "name": name,
        "title": tool.get("title"),
        "description": tool["description"],
        "annotations": annotations,
        "icons": [types.Icon.model_validate(icon) for icon in tool.get("icons", [])] or None,
        "meta": tool.get("_meta"),
        "structured_output": False,
    }


def plain(value):
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


def is_modern(ctx):
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def ask(key, request, state):
    return types.InputRequiredResult(input_requests={key: request}, request_state=state)


def sample_params(*more):
    params = FEATURES["sample"] | {"messages": [*FEATURES["sample"]["messages"], *more]}
    return types.CreateMessageRequestParams.model_validate(params)


def used():
    return [
        {"role": "assistant", "content": [FEATURES["use"]]},
        {"role": "user", "content": [FEATURES["used"]]},
    ]


async def create_message(ctx, params):
    return await ctx.request_context.session.create_message(
        params.messages,
        max_tokens=params.max_tokens,
        system_prompt=params.system_prompt,
        temperature=params.temperature,
        stop_sequences=params.stop_sequences,
        model_preferences=params.model_preferences,
        tools=params.tools,
        tool_choice=params.tool_choice,
        related_request_id=ctx.request_id,
    )


def use_of(answer):
    (use,) = answer.content_as_list
    return f"{use.type} {use.name} {use.input['city']}"


def add_features(server):
    @server.tool(**options("rich"))
    def rich() -> types.CallToolResult:
        return types.CallToolResult.model_validate(FEATURES["rich"])

    # This SDK wraps structured content that is no object, in both eras.
    @server.tool(**options("sequence") | {"structured_output": True})
    def sequence() -> list[int]:
        return FEATURES["sequence"]["value"]

    @server.tool(**options("sample"))
    async def sample(ctx: Context) -> str | types.InputRequiredResult:
        if not is_modern(ctx):
            first = await create_message(ctx, sample_params())
            second = await create_message(ctx, sample_params(*used()))
            return f"{use_of(first)}, then {second.content.text}"
        if ctx.input_responses is None:
            return ask("sampled", types.CreateMessageRequest(params=sample_params()), "first")
        answer = ctx.input_responses["sampled"]
        if answer.stop_reason != "toolUse":
            return f"{ctx.request_state}, then {answer.content.text}"
        again = types.CreateMessageRequest(params=sample_params(*used()))
        return ask("sampled", again, use_of(answer))

    @server.tool(**options("where"))
    async def where(ctx: Context) -> str | types.InputRequiredResult:
        if is_modern(ctx) and ctx.input_responses is None:
            return ask("roots", types.ListRootsRequest(), "asked")
        answer = ctx.input_responses["roots"] if is_modern(ctx) else await ctx.request_context.session.list_roots()
        return ",".join(f"{root.uri} {root.name}" for root in answer.roots)

    @server.tool(**options("login"))
    async def login(ctx: Context) -> str | types.InputRequiredResult:
        params = FEATURES["login"]
        if is_modern(ctx) and ctx.input_responses is None:
            return ask("login", types.ElicitRequest(params=types.ElicitRequestURLParams.model_validate(params)), "asked")
        if is_modern(ctx):
            return ctx.input_responses["login"].action
        return (await ctx.elicit_url(params["message"], params["url"], "login-1")).action

    @server.tool(**options("seen"))
    def seen(ctx: Context) -> str:
        meta = dict(ctx.request_context.meta or {})
        foreign = {
            key: value
            for key, value in meta.items()
            if not key.startswith("io.modelcontextprotocol/") and key not in ["progressToken", "progress_token"]
        }
        spoken = ctx.protocol_version
        return json.dumps({"meta": foreign, "capabilities": plain(ctx.client_capabilities), "spoken": spoken})

    @server.tool(**options("bump"))
    async def bump(to: int, ctx: Context) -> str:
        global clicks
        clicks = to
        if is_modern(ctx):
            await ctx.notify_resource_updated(FEATURES["counter"])
        else:
            await ctx.request_context.session.send_resource_updated(FEATURES["counter"])
        return "bumped"

    blob = FEATURES["blob"]

    @server.resource(blob["uri"], mime_type=blob["mimeType"], meta={"example.com/resource": 1})
    def dot() -> bytes:
        """A dot."""
        return base64.b64decode(blob["base64"])

    @server.resource(FEATURES["counter"], name="clicks", mime_type="text/plain")
    def counter() -> str:
        """Counts."""
        return str(clicks)

    # Legacy clients, for whom this SDK leaves it to the server.
    async def accept(ctx, params):
        return types.EmptyResult()

    server._lowlevel_server.add_request_handler("resources/subscribe", types.SubscribeRequestParams, accept)
    server._lowlevel_server.add_request_handler("resources/unsubscribe", types.UnsubscribeRequestParams, accept)
