"""FastMCP's own server for the conformance suite, over stdio, or over HTTP at a port.

    python fixture_fastmcp.py FOLDER (stdio | PORT)

The server in FOLDER supports HTTP only. The port is on the loopback address.
"""

import sys

folder, way = sys.argv[1:]
sys.path.insert(0, folder)

import server  # noqa: E402

if way == "stdio":
    server.server.run(transport="stdio", show_banner=False)
else:
    import uvicorn

    uvicorn.run(server.build_app(), host="127.0.0.1", port=int(way), log_level="error")
