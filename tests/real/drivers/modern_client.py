"""Holds the modern conversation with the Python SDK, and prints one line of JSON a step.

    python modern_client.py URL
    python modern_client.py COMMAND ARGS…

$PREFIX is the prefix of tool and prompt names, where there are several servers; $TOKEN a bearer token.
"""

import json
import os
import sys
import warnings

import anyio
import mcp.types as types
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ToolsListChanged
from mcp.shared._httpx_utils import create_mcp_http_client

# The SDK warns about features that are to be removed.
warnings.simplefilter("ignore")
target, *args = sys.argv[1:]
prefix = os.environ.get("PREFIX", "")
logs = []


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


async def elicit(context, params):
    show("asked", params)
    return types.ElicitResult(action="accept", content={"sure": True})


async def log(params):
    logs.append(plain(params))


def connection():
    if not target.startswith("http:"):
        return StdioServerParameters(command=target, args=args, env=dict(os.environ))
    headers = {"Authorization": f"Bearer {os.environ.get('TOKEN', 'none')}"}
    return streamable_http_client(target, http_client=create_mcp_http_client(headers=headers))


async def main():
    options = {"elicitation_callback": elicit, "logging_callback": log, "log_level": "warning", "cache": None}
    async with Client(connection(), mode="auto", **options) as client:

        def call(name, arguments, **more):
            return client.call_tool(prefix + name, arguments, **more)

        show("discover", await client.session.discover())
        show("version", client.protocol_version)
        show("tools", await client.list_tools())
        show("add", await call("add", {"a": 2, "b": 3}))

        steps = []

        async def progress(done, total, message):
            steps.append([done, total, message])

        show("work", await call("work", {"steps": 3}, progress_callback=progress))
        show("progress", steps)
        show("logs", logs)

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

        with anyio.CancelScope() as scope:

            async def stop(done, total, message):
                scope.cancel()

            await call("wait", {}, progress_callback=stop)
        show("cancelled", scope.cancelled_caught)
        while (await call("was_cancelled", {})).content[0].text != "yes":
            await anyio.sleep(0.01)
        show("server knows", True)

        async with client.listen(tools_list_changed=True) as listening:
            show("listens", listening.honored)
            await call("change", {"shown": True})
            show("told", (await anext(listening)) == ToolsListChanged())
            show("changed", sorted(tool.name for tool in (await client.list_tools()).tools))
        show("restored", await call("change", {"shown": False}))
    show("closed", True)


anyio.run(main)
