"""Drives server-everything, or the time server, with the official Python SDK; prints one line of JSON a step.

    python python.py (session | legacy | auto) (everything | time) COMMAND ARGS…

`session` is the way of the 1.x line, the other two are that of 2.x. $PREFIX stands before the tools and prompts, where
the server is one of several.
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

# It warns of what the newest era no longer has.
warnings.simplefilter("ignore")
mode, server, command, *args = sys.argv[1:]
prefix = os.environ.get("PREFIX", "")
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


@asynccontextmanager
async def connect():
    parameters = StdioServerParameters(command=command, args=args)
    callbacks = {
        "sampling_callback": sampling,
        "elicitation_callback": elicitation,
        "list_roots_callback": roots,
        "logging_callback": log,
        "message_handler": message,
    }
    if mode == "session":
        async with stdio_client(parameters) as (read, write), ClientSession(read, write, **callbacks) as client:
            show("server", await client.initialize())
            yield client
    else:
        from mcp import Client

        async with Client(parameters, mode=mode, **callbacks) as client:
            show("server", [client.session.server_info, client.session.instructions])
            yield client


async def attempt(step, awaitable):
    try:
        show(step, await awaitable)
    except Exception as error:
        show(step, {"failed": str(error)})


async def everything():
    async with connect() as client:
        await until(lambda: messages)
        show("roots were taken", messages)
        show("ping", await client.send_ping())
        show("tools", (await client.list_tools()).tools)
        show("resources", (await client.list_resources()).resources)
        show("prompts", (await client.list_prompts()).prompts)
        show("prompt", await client.get_prompt(prefix + "args-prompt", {"city": "Zürich"}))
        show("read", await client.read_resource("demo://resource/dynamic/text/7"))
        show("echo", await client.call_tool(prefix + "echo", {"message": "„hi“ 😀"}))
        show("structured", await client.call_tool(prefix + "get-structured-content", {"location": "Chicago"}))
        show("image", await client.call_tool(prefix + "get-tiny-image", {}))
        show("roots", await client.call_tool(prefix + "get-roots-list", {}))
        await attempt("unknown tool", client.call_tool(prefix + "no-such-tool", {}))
        await attempt("unknown resource", client.read_resource("demo://nowhere"))

        progress = []

        async def step(done, total, message):
            progress.append([done, total, message])

        operation = {"duration": 1, "steps": 4}
        show("long", await client.call_tool(prefix + "trigger-long-running-operation", operation, progress_callback=step))
        # The last step comes with the answer, and the SDK may then have stopped listening.
        show("progress", progress[:3])
        show("sampling", await client.call_tool(prefix + "trigger-sampling-request", {"prompt": "p"}))
        show("elicitation", await client.call_tool(prefix + "trigger-elicitation-request", {}))

        said = {}

        async def echo(text):
            said[text] = plain(await client.call_tool(prefix + "echo", {"message": text}))

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
                await client.call_tool(prefix + "trigger-long-running-operation", hour, progress_callback=stop)
            show("cancelled", scope.cancelled_caught)

        uri = "demo://resource/dynamic/text/1"
        show("subscribe", await client.subscribe_resource(uri))
        show("toggle", await client.call_tool(prefix + "toggle-subscriber-updates", {}))
        await until(lambda: updated)
        show("updated", updated)
        show("toggle", await client.call_tool(prefix + "toggle-subscriber-updates", {}))
        show("unsubscribe", await client.unsubscribe_resource(uri))
    show("closed", True)


async def time():
    async with connect() as client:
        show("tools", (await client.list_tools()).tools)
        for zone in ["Asia/Tokyo", "Nowhere/None"]:
            result = await client.call_tool(prefix + "get_current_time", {"timezone": zone})
            show(zone, [result.content, plain(result).get("structuredContent"), plain(result)["isError"]])
    show("closed", True)


anyio.run(everything if server == "everything" else time)
