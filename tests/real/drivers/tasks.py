"""Runs tools of FastMCP's server for the conformance suite as tasks, with the Python SDK 1.x; prints the same as tasks.mjs.

    python tasks.py PREFIX (COMMAND ARGS… | URL TOKEN)
"""

import json
import sys
from contextlib import asynccontextmanager

import anyio
from mcp import ClientSession, McpError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.types import CallToolResult, ElicitResult

prefix, target, *args = sys.argv[1:]
RELATED = "io.modelcontextprotocol/related-task"
asked = []


def plain(value):
    return value.model_dump(mode="json", by_alias=True, exclude_none=True) if hasattr(value, "model_dump") else value


def show(step, value):
    print(json.dumps({"step": step, "value": plain(value)}), flush=True)


async def attempt(step, promise):
    try:
        show(step, await promise)
    except McpError as error:
        show(step, {"error": error.error.code})


async def elicitation(context, params):
    params = plain(params)
    asked.append(params)
    field = next(iter(params["requestedSchema"]["properties"]))
    return ElicitResult(action="accept", content={field: f"my {field}"})


@asynccontextmanager
async def connect():
    if target.startswith("http:"):
        client = create_mcp_http_client(headers={"Authorization": f"Bearer {args[0]}"})
        streams = streamable_http_client(target, http_client=client)
    else:
        streams = stdio_client(StdioServerParameters(command=target, args=args, env=None))
    async with streams as (read, write, *_):
        async with ClientSession(read, write, elicitation_callback=elicitation) as session:
            await session.initialize()
            yield session


async def begin(session, name, given=None):
    return (await session.experimental.call_tool_as_task(prefix + name, given or {})).task


async def run(session, name, given=None):
    """The statuses of a task, each once, and its result. A task that wants input is asked for its result, as the SDK says."""
    asked.clear()
    task = await begin(session, name, given)
    statuses = [task.status]
    async for state in session.experimental.poll_task(task.taskId):
        if statuses[-1] != state.status:
            statuses.append(state.status)
        if state.status == "input_required":
            break
    result = await session.experimental.get_task_result(task.taskId, CallToolResult)
    related = all(params["_meta"][RELATED]["taskId"] == task.taskId for params in asked)
    said = result.content[0].text
    return {"statuses": statuses, "said": said, "asked": [params["message"] for params in asked], "related": related}


async def main():
    async with connect() as session:
        tasks = session.experimental
        show("tasks", session.get_server_capabilities().tasks)
        tools = (await session.list_tools()).tools
        show("support", next(tool for tool in tools if tool.name == f"{prefix}slow_compute").execution)
        show("works", await run(session, "slow_compute", {"seconds": 0.3, "label": "x"}))
        show("at once", await run(session, "greet", {"name": "Ann"}))
        show("asks", await run(session, "confirm_delete", {"filename": "f"}))
        show("asks twice", await run(session, "multi_input"))
        failing = (await begin(session, "failing_job")).taskId
        show("fails", await tasks.get_task_result(failing, CallToolResult))
        show("failed", (await tasks.get_task(failing)).status)
        error = (await begin(session, "protocol_error_job")).taskId
        await attempt("breaks", tasks.get_task_result(error, CallToolResult))
        slow = (await begin(session, "slow_compute", {"seconds": 600})).taskId
        show("cancels", (await tasks.cancel_task(slow)).status in ("working", "cancelled"))
        await attempt("cancelled", tasks.get_task_result(slow, CallToolResult))
        await attempt("unknown", tasks.get_task("no such task"))
        show("waits", (await session.call_tool(f"{prefix}failing_job", {})).isError)


anyio.run(main)
