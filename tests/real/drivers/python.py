"""Drives server-everything, or the time server, with the official Python SDK; prints one line of JSON a step.

    python python.py (session | legacy | auto) (everything | time) COMMAND ARGS…
    python python.py (session | legacy | auto) everything URL (http | sse) TOKEN [PREFIX]

`session` is for SDK 1.x, the other two are for 2.x. PREFIX (or $PREFIX) is the prefix of tool and prompt names where there are
several servers. Where `auto` finds the modern era, it leaves out what only the legacy era has, and listens instead of subscribing.
"""

import json
import os
import sys
import warnings
from contextlib import asynccontextmanager

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

try:
    from mcp.types import CreateMessageResult, ElicitResult, ListRootsResult, Root, TextContent
except ImportError:
    from mcp_types import CreateMessageResult, ElicitResult, ListRootsResult, Root, TextContent

# The SDK warns about features that the newest era lacks.
warnings.simplefilter("ignore")
mode, server, command, *args = sys.argv[1:]
is_remote = command.startswith("http:")
prefix = args[2] if is_remote and len(args) > 2 else os.environ.get("PREFIX", "")
messages = []
updated = []
news = anyio.Event()


def plain(value):
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def show(step, value):
    print(json.dumps({"step": step, "value": plain(value)}), flush=True)


def wake():
    global news
    news.set()
    news = anyio.Event()


async def until(fact):
    while not fact():
        await news.wait()


async def roots(context):
    return ListRootsResult(roots=[Root(uri="file:///home/someone/project", name="project")])


async def sampling(context, params):
    show("asked for sampling", params)
    text = TextContent(type="text", text="sampled – äöü")
    return CreateMessageResult(role="assistant", model="none", content=text)


async def elicitation(context, params):
    show("asked to elicit", params.message)
    return ElicitResult(action="accept", content={"name": "Ada", "check": True, "integer": 7})


async def log(params):
    messages.append(plain(params))
    wake()


async def message(message):
    message = getattr(message, "root", message)
    if getattr(message, "method", None) == "notifications/resources/updated":
        updated.append(plain(message.params))
        wake()


def remote():
    way, token = args[:2]
    headers = {"Authorization": f"Bearer {token}"}
    if way == "sse":
        from mcp.client.sse import sse_client

        return sse_client(command, headers=headers)
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    return streamable_http_client(command, http_client=create_mcp_http_client(headers=headers))


class Prefixed:
    """A client that adds the prefix to names."""

    def __init__(self, client):
        self.client = client

    def __getattr__(self, name):
        return getattr(self.client, name)

    def call_tool(self, name, *rest, **named):
        return self.client.call_tool(prefix + name, *rest, **named)

    def get_prompt(self, name, *rest, **named):
        return self.client.get_prompt(prefix + name, *rest, **named)


@asynccontextmanager
async def connect():
    parameters = None if is_remote else StdioServerParameters(command=command, args=args)
    callbacks = {
        "sampling_callback": sampling,
        "elicitation_callback": elicitation,
        "list_roots_callback": roots,
        "logging_callback": log,
        "message_handler": message,
    }
    if mode == "session":
        async with remote() if is_remote else stdio_client(parameters) as streams:
            async with ClientSession(*streams[:2], **callbacks) as client:
                show("server", await client.initialize())
                yield Prefixed(client)
    else:
        from mcp import Client

        async with Client(remote() if is_remote else parameters, mode=mode, **callbacks) as client:
            show("server", [client.session.server_info, client.session.instructions])
            yield Prefixed(client)


async def attempt(step, awaitable):
    try:
        show(step, await awaitable)
    except Exception as error:
        show(step, {"failed": str(error)})


async def everything():
    async with connect() as client:
        is_modern = mode == "auto" and client.protocol_version == "2026-07-28"
        # The server also asks by itself a moment after its start, and keeps what it is told first. A modern client can tell it
        # its roots only within a call, so that must be the first one.
        first_roots = await client.call_tool("get-roots-list", {}) if is_modern else None
        # A server whose lists are stored starts with its first call.
        show("echo", await client.call_tool("echo", {"message": "„hi“ 😀"}))
        if is_modern:
            show("modern", True)
        else:
            await until(lambda: messages)
            show("roots were taken", messages)
            show("ping", await client.send_ping())
        show("tools", (await client.list_tools()).tools)
        show("resources", (await client.list_resources()).resources)
        show("prompts", (await client.list_prompts()).prompts)
        show("prompt", await client.get_prompt("args-prompt", {"city": "Zürich"}))
        show("read", await client.read_resource("demo://resource/dynamic/text/7"))
        show("structured", await client.call_tool("get-structured-content", {"location": "Chicago"}))
        show("image", await client.call_tool("get-tiny-image", {}))
        show("roots", first_roots or await client.call_tool("get-roots-list", {}))
        await attempt("unknown tool", client.call_tool("no-such-tool", {}))
        await attempt("unknown resource", client.read_resource("demo://nowhere"))

        progress = []

        async def step(done, total, message):
            progress.append([done, total, message])

        operation = {"duration": 1, "steps": 4}
        show("long", await client.call_tool("trigger-long-running-operation", operation, progress_callback=step))
        # The last progress comes with the answer, when the SDK may have stopped listening.
        show("progress", progress[:3])
        show("sampling", await client.call_tool("trigger-sampling-request", {"prompt": "p"}))
        show("elicitation", await client.call_tool("trigger-elicitation-request", {}))

        said = {}

        async def echo(text):
            said[text] = plain(await client.call_tool("echo", {"message": text}))

        async with anyio.create_task_group() as group:
            for text in ["one", "two", "three"]:
                group.start_soon(echo, text)
        show("at once", sorted(said.items()))

        # The 1.x line abandons a call without telling the server.
        if mode != "session":
            with anyio.CancelScope() as scope:

                async def stop(done, total, message):
                    scope.cancel()

                hour = {"duration": 3600, "steps": 36000}
                await client.call_tool("trigger-long-running-operation", hour, progress_callback=stop)
            show("cancelled", scope.cancelled_caught)

        uri = "demo://resource/dynamic/text/1"
        if is_modern:
            async with client.listen(resource_subscriptions=[uri]) as listening:
                show("toggle", await client.call_tool("toggle-subscriber-updates", {}))
                # A subscription may be acknowledged before its server knows of it, and the server tells once each time that it is
                # turned on.
                told = None
                while told is None:
                    with anyio.move_on_after(0.2):
                        told = await listening.__anext__()
                    if told is None:
                        await client.call_tool("toggle-subscriber-updates", {})
                        await client.call_tool("toggle-subscriber-updates", {})
                show("updated", [{"uri": str(told.uri)}])
                show("toggle", await client.call_tool("toggle-subscriber-updates", {}))
            return show("closed", True)
        show("subscribe", await client.subscribe_resource(uri))
        show("toggle", await client.call_tool("toggle-subscriber-updates", {}))
        await until(lambda: updated)
        show("updated", [{"uri": str(updated[0]["uri"])}])
        show("toggle", await client.call_tool("toggle-subscriber-updates", {}))
        show("unsubscribe", await client.unsubscribe_resource(uri))
    show("closed", True)


async def time():
    async with connect() as client:
        show("tools", (await client.list_tools()).tools)
        for zone in ["Asia/Tokyo", "Nowhere/None"]:
            result = await client.call_tool("get_current_time", {"timezone": zone})
            show(zone, [result.content, plain(result).get("structuredContent"), plain(result)["isError"]])
    show("closed", True)


anyio.run(everything if server == "everything" else time)
