"""A server of the Python SDK: server.py stdio|streamable-http|json|sse PORT"""

import sys

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from pydantic import BaseModel

server = MCPServer("python", version="1", log_level="INFO")


class Name(BaseModel):
    name: str


@server.tool()
def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


@server.tool()
async def work(steps: int, ctx: Context) -> str:
    """Reports progress."""
    for step in range(steps):
        await ctx.report_progress(step + 1, steps, f"step {step + 1}")
    return "worked"


@server.tool()
async def ask(ctx: Context) -> str:
    """Asks the user."""
    answer = await ctx.elicit("Who?", Name)
    return f"{answer.action}: {answer.data.name if answer.action == 'accept' else ''}"


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("as it should")


@server.resource("demo://greeting/{name}")
def greeting(name: str) -> str:
    """Greets."""
    return f"Hello, {name}!"


@server.prompt()
def review(code: str) -> str:
    """Reviews."""
    return f"Review {code}"


mode, port = sys.argv[1], int(sys.argv[2])
if mode == "stdio":
    server.run("stdio")
elif mode == "json":
    server.run("streamable-http", port=port, json_response=True)
else:
    server.run(mode, port=port)
