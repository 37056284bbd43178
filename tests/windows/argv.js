// A server whose name is its own arguments, as JSON.
const lines = require("readline").createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const request = JSON.parse(line);
  if (request.id === undefined) return;
  const serverInfo = { name: JSON.stringify(process.argv.slice(2)), version: process.env.NODE_PATH || "" };
  const greeting = { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo };
  const result = request.method === "initialize" ? greeting : { tools: [] };
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id: request.id, result }) + "\n");
});
lines.on("close", () => process.exit(0));
