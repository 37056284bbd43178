"""A modern server of the Python SDK over HTTP, with tools whose arguments are repeated in headers: modern_headers.py PORT"""

import sys
from typing import Annotated

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from pydantic import Field

server = MCPServer("modern", version="1", log_level="INFO")
cancelled = 0


@server.tool()
def sql(
    region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})],
    limit: Annotated[int, Field(json_schema_extra={"x-mcp-header": "Limit"})] = 1,
) -> str:
    """Repeats its arguments in headers."""
    return f"{region} {limit}"


@server.tool()
async def work(steps: int, ctx: Context) -> str:
    """Reports progress."""
    for step in range(steps):
        await ctx.report_progress(step + 1, steps, f"step {step + 1}")
    return "worked"


@server.tool()
async def hang(ctx: Context) -> str:
    """Works until it is cancelled."""
    global cancelled
    await ctx.report_progress(1, 2, "begun")
    try:
        await anyio.sleep_forever()
    finally:
        cancelled += 1
    return "unreachable"


@server.tool()
def count() -> str:
    """Counts cancelled calls."""
    return str(cancelled)


@server.resource("demo://greeting/{name}")
def greeting(name: str) -> str:
    """Greets."""
    return f"Hello, {name}!"


@server.prompt(name="grüßen")
def greet() -> str:
    """Has a name that no header can carry as it is."""
    return "Hallo"


server.run("streamable-http", port=int(sys.argv[1]))
