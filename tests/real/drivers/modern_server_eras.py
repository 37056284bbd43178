"""Servers of the Python SDK speak both eras. This makes one refuse an era, in the words of the SDK."""

import mcp.server.lowlevel.server
from mcp.server import runner, streamable_http_manager

Manager = streamable_http_manager.StreamableHTTPSessionManager


async def serve_modern(server, read, write, *, lifespan_state, raise_exceptions=False, **_):
    await runner._serve_modern_stream(
        server, read, write, lifespan_state=lifespan_state, raise_exceptions=raise_exceptions
    )


async def handle_modern(manager, scope, receive, send):
    await streamable_http_manager.handle_modern_request(
        manager.app,
        manager.security_settings,
        manager.json_response,
        manager._lifespan_state,
        scope,
        receive,
        send,
    )


def speak_only(era):
    is_modern = era == "modern"
    mcp.server.lowlevel.server.serve_dual_era_loop = serve_modern if is_modern else runner.serve_loop
    Manager._handle_request = handle_modern if is_modern else Manager._handle_stateful_request
