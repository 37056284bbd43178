"""The Python SDK's "everything" example server, over stdio, or over HTTP at a port.

    python fixture.py FOLDER (stdio | PORT)

The example in FOLDER supports HTTP only. The port is on the loopback address.
"""

import sys

folder, way = sys.argv[1:]
sys.path.insert(0, folder)

from mcp_everything_server import server  # noqa: E402

if way == "stdio":
    server.mcp.run(transport="stdio")
else:
    server.mcp.run(
        transport="streamable-http",
        port=int(way),
        event_store=server.event_store,
        retry_interval=100,
    )
