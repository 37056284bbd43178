"""Holds modern conversations with the Python SDK, and prints one line of JSON a step.

    python modern_client.py

Each line of the input is the JSON of one conversation, as for modern_client.mjs.
"""

import json
import os
import sys
import warnings
from contextlib import nullcontext, suppress

import anyio
import mcp.types as types
from mcp import MCPError, StdioServerParameters
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ToolsListChanged
from mcp.shared._httpx_utils import create_mcp_http_client
from modern_client_features import hold_features, options

# The SDK warns about features that are to be removed.
warnings.simplefilter("ignore")


def plain(value):
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def show(step, value):
    print(json.dumps({"step": step, "value": plain(value)}), flush=True)


async def attempt(step, awaitable):
    try:
        show(step, await awaitable)
    except Exception as error:
        show(step, {"failed": str(error), "code": getattr(error, "code", None)})


def connection(job):
    command, *args = job["target"]
    if not command.startswith("http:"):
        return StdioServerParameters(command=command, args=args, env={**os.environ, **job.get("env", {})}, cwd=job.get("cwd"))
    headers = {"Authorization": f"Bearer {job.get('token', 'none')}"}
    return streamable_http_client(command, http_client=create_mcp_http_client(headers=headers))


async def cancel(call):
    with anyio.CancelScope() as scope:

        async def stop(done, total, message):
            scope.cancel()

        await call("wait", {}, progress_callback=stop)
    show("cancelled", scope.cancelled_caught)
    while (await call("was_cancelled", {})).content[0].text != "yes":
        await anyio.sleep(0.01)
    show("server knows", True)


async def hold(job):
    prefix, is_legacy = job.get("prefix", ""), job["era"] == "legacy"
    is_stateless = job.get("stateless", False)
    logs = []
    changed = anyio.Event()
    tell_update, updated = anyio.create_memory_object_stream(10)

    async def told(message):
        if isinstance(message, types.ToolListChangedNotification):
            changed.set()
        if isinstance(message, types.ResourceUpdatedNotification):
            tell_update.send_nowait(message.params)

    async def log(params):
        logs.append(plain(params))

    more = {"logging_callback": log, "message_handler": told, "cache": None}
    if not is_legacy:
        more["log_level"] = "warning"
    async with Client(connection(job), mode="legacy" if is_legacy else "auto", **options(show), **more) as client:

        def call(name, arguments, **more):
            return client.call_tool(prefix + name, arguments, **more)

        if is_legacy:
            show("server", [client.server_info, client.server_capabilities, client.instructions])
            # The legacy server of this SDK has no levels, and logs everything.
            with suppress(MCPError):
                await client.set_logging_level("warning")
            show("ping", await client.send_ping())
        else:
            show("discover", await client.session.discover())
        show("version", client.protocol_version)
        show("tools", await client.list_tools())
        show("add", await call("add", {"a": 2, "b": 3}))

        steps = []

        async def progress(done, total, message):
            steps.append([done, total, message])

        show("work", await call("work", {"steps": 3}, progress_callback=progress))
        show("progress", steps)
        # A server may send them on a stream of their own.
        while len(logs) < 3:
            await anyio.sleep(0.005)
        show("logs", logs)

        if not is_stateless:
            show("confirm", await call("confirm", {"what": "„delete“ 😀"}))
        await attempt("unknown tool", call("nothing", {}))

        show("resources", await client.list_resources())
        show("templates", await client.list_resource_templates())
        show("read", await client.read_resource("config://app"))
        show("read template", await client.read_resource("greeting://W%C3%B6rld"))
        await attempt("unknown resource", client.read_resource("config://nothing"))

        show("prompts", await client.list_prompts())
        show("prompt", await client.get_prompt(prefix + "review", {"language": "rust"}))
        reference = types.PromptReference(name=prefix + "review")
        show("completion", await client.complete(reference, {"name": "language", "value": "py"}))

        await hold_features(client, call, show, attempt, is_legacy, updated, is_stateless)
        if not is_stateless:
            await cancel(call)
        if job.get("silent") or is_stateless:
            return
        async with nullcontext() if is_legacy else client.listen(tools_list_changed=True) as listening:
            show("listens", listening and listening.honored)
            await call("change", {"shown": True})
            show("told", await changed.wait() if is_legacy else (await anext(listening)) == ToolsListChanged())
            show("changed", sorted(tool.name for tool in (await client.list_tools()).tools))
        show("restored", await call("change", {"shown": False}))


for line in sys.stdin:
    anyio.run(hold, json.loads(line))
    show("closed", True)
