// A server whose child starts another; none of them ends with its input. `alone` is a server without children. The
// last argument, the folder of the test, identifies the process.
const { spawn } = require("child_process");
const [kind, mark] = process.argv.slice(2);
const next = { server: "child", child: "grandchild" }[kind];
if (next) spawn(process.execPath, [__filename, next, mark], { stdio: "ignore", detached: next === "grandchild" });
setInterval(() => {}, 1000);
if (kind === "server" || kind === "alone") {
  require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method } = JSON.parse(line);
    if (id === undefined) return;
    const serverInfo = { name: "family", version: "1" };
    const greeting = { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo };
    const tools = [{ name: "ping", inputSchema: { type: "object" } }];
    const text = JSON.stringify({ pid: process.pid, ppid: process.ppid, cwd: process.cwd() });
    const results = { initialize: greeting, "tools/list": { tools }, "tools/call": { content: [{ type: "text", text }] } };
    process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result: results[method] || {} }) + "\n");
  });
}
