"""A server of the Python SDK: modern_server.py [modern | legacy] (stdio | PORT)

It speaks both eras, unless it is told to speak one of them only.

Offers the same as modern_server.mjs, so that one conversation fits both; and the same as the example `rmcp_peer`, except for
what HTTP headers repeat: the tool `sql`, and a prompt whose name no header can carry as it is.
"""

import sys
from typing import Annotated

import anyio
import mcp.types as types
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from modern_server_eras import speak_only
from modern_server_features import Unknown, add_features
from pydantic import BaseModel, Field

server = MCPServer("peer", version="1", instructions="Be kind.", log_level="ERROR", extensions=[Unknown()])
add_features(server)
cancelled = False


class Sum(BaseModel):
    sum: int


@server.tool(description="Adds.")
def add(a: int, b: int) -> Sum:
    return Sum(sum=a + b)


@server.tool(description="Reports progress and logs.", structured_output=False)
async def work(steps: int, ctx: Context) -> str:
    for step in range(1, steps + 1):
        await ctx.report_progress(step, steps, f"step {step}")
        params = types.LoggingMessageNotificationParams(level="warning", logger="work", data=f"step {step}")
        await ctx.request_context.session.send_notification(
            types.LoggingMessageNotification(params=params),
            related_request_id=ctx.request_context.request_id,
        )
    return "worked"


@server.tool(description="Asks the user.", structured_output=False)
async def confirm(what: str, ctx: Context) -> str | types.InputRequiredResult:
    responses = ctx.input_responses
    schema = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}
    if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        # Unlike the TypeScript SDK, this one leaves it to the tool to ask in the era of its client.
        answer = await ctx.request_context.session.elicit_form(f"Really {what}?", schema, ctx.request_id)
        return f"asked/{what} {answer.action} {answer.content['sure']}"
    if responses is None:
        params = types.ElicitRequestFormParams(message=f"Really {what}?", requested_schema=schema)
        return types.InputRequiredResult(
            input_requests={"sure": types.ElicitRequest(params=params)}, request_state=f"asked/{what}"
        )
    answer = responses["sure"]
    return f"{ctx.request_state} {answer.action} {answer.content['sure']}"


@server.tool(description="Waits until it is cancelled.", structured_output=False)
async def wait(ctx: Context) -> str:
    global cancelled
    await ctx.report_progress(1, 2, "waiting")
    try:
        await anyio.sleep(60)
    except anyio.get_cancelled_exc_class():
        cancelled = True
        raise
    return "waited"


@server.tool(description="Whether a call was cancelled since the last question.", structured_output=False)
def was_cancelled() -> str:
    global cancelled
    was, cancelled = cancelled, False
    return "yes" if was else "no"


@server.tool(description="Shows or hides the tool `extra`.", structured_output=False)
async def change(shown: bool, ctx: Context) -> str:
    if shown:
        server.add_tool(extra)
    else:
        server.remove_tool("extra")
    await ctx.notify_tools_changed()
    return "changed"


def extra() -> str:
    """Is not always there."""
    return "extra"


@server.tool(description="Repeats its arguments.", structured_output=False)
def sql(
    region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})],
    limit: Annotated[int, Field(json_schema_extra={"x-mcp-header": "Limit"})] = 1,
) -> str:
    return f"{region} {limit}"


@server.resource("config://app", mime_type="application/json")
def app() -> str:
    """The configuration."""
    return '{"on":true}'


@server.resource("greeting://{name}")
def greeting(name: str) -> str:
    """Greets."""
    return f"Hello, {name}!"


@server.prompt()
def review(language: str) -> str:
    """Reviews."""
    return f"Review this {language}"


@server.prompt(name="grüßen")
def greet() -> str:
    """Greets."""
    return "Hallo"


@server.completion()
async def complete(ref, argument, context):
    values = [name for name in ["python", "pytorch", "rust"] if name.startswith(argument.value)]
    return types.Completion(values=values, total=len(values), has_more=False)


*only, way = sys.argv[1:]
for era in only:
    speak_only(era)
if way == "stdio":
    server.run("stdio")
else:
    server.settings.log_level = "INFO"
    server.run("streamable-http", port=int(way))
