// A modern server of the TypeScript SDK over HTTP, with the tools of modern_headers.py: modern_headers.mjs PORT
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { createMcpHandler, fromJsonSchema, McpServer } from "@modelcontextprotocol/server";

let cancelled = 0;
const text = (text) => ({ content: [{ type: "text", text }] });
const object = (properties) => fromJsonSchema({ type: "object", properties });

function make() {
  const server = new McpServer({ name: "modern", version: "1" });
  const header = (type, name) => ({ type, "x-mcp-header": name });
  const sql = object({ region: header("string", "Region"), limit: header("integer", "Limit") });
  server.registerTool("sql", { inputSchema: sql }, ({ region, limit = 1 }) => text(`${region} ${limit}`));
  const progress = (ctx, progress, total, message) => {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    return ctx.mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total, message } });
  };
  server.registerTool("work", { inputSchema: object({ steps: { type: "integer" } }) }, async ({ steps }, ctx) => {
    for (let step = 1; step <= steps; step++) await progress(ctx, step, steps, `step ${step}`);
    return text("worked");
  });
  server.registerTool("hang", { inputSchema: object({}) }, async (_, ctx) => {
    await progress(ctx, 1, 2, "begun");
    await new Promise((_, reject) => ctx.mcpReq.signal.addEventListener("abort", () => reject(++cancelled)));
  });
  server.registerTool("count", { inputSchema: object({}) }, () => text(String(cancelled)));
  server.registerPrompt("grüßen", {}, () => ({ messages: [{ role: "user", content: { type: "text", text: "Hallo" } }] }));
  return server;
}

const handler = createMcpHandler(make);
createServer(async (request, response) => {
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  const body = request.method === "POST" ? Readable.toWeb(request) : undefined;
  const url = `http://127.0.0.1${request.url}`;
  const options = { method: request.method, headers: request.headers, body, duplex: "half", signal: gone.signal };
  const answer = await handler.fetch(new Request(url, options));
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (!answer.body) return response.end();
  const reader = answer.body.getReader();
  response.on("close", () => reader.cancel().catch(() => {}));
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      response.write(value);
    }
  } catch {
    // The client is gone.
  }
  response.end();
}).listen(Number(process.argv[2]), "127.0.0.1", () => console.error("listening on port"));
