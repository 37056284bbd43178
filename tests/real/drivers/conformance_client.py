"""Runs a client of the conformance suite, directly or through Switchboard.

    python conformance_client.py CLIENT (directly | SWITCHBOARD) URL

SWITCHBOARD is the program, which then serves the server at URL for this client alone.
"""

import json
import os
import subprocess
import sys
import tempfile

client, way, url = sys.argv[1:]


def run(url):
    return subprocess.run([sys.executable, client, url]).returncode


if way == "directly":
    sys.exit(run(url))

with tempfile.TemporaryDirectory() as home:
    config = os.path.join(home, "config.json")
    with open(config, "w") as file:
        json.dump({"mcpServers": {"suite": {"url": url}}}, file)
    runtime = os.path.join(home, "r")
    os.mkdir(runtime, 0o700)
    env = {**os.environ, "HOME": home, "XDG_RUNTIME_DIR": runtime}
    words = [way, "serve", "--listen", "127.0.0.1:0", "--no-auth", "--config", config]
    with subprocess.Popen(words, env=env, stderr=subprocess.PIPE, text=True) as served:
        try:
            said = next(line for line in served.stderr if "listening at " in line)
            address = said.split("listening at ")[1].split()[0]
            code = run(f"http://{address}/servers/suite/mcp")
        finally:
            served.terminate()
sys.exit(code)
