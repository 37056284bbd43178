// A server of the TypeScript SDK: modern_server.mjs [modern | legacy | sessionless] (stdio | PORT)
//
// It speaks both eras, unless it is told to speak one of them only. Over HTTP a legacy client has a session; not so with
// `sessionless`, where each of its requests has a server object of its own.
//
// Offers the same as modern_server.py, so that one conversation fits both; and the same as the example `rmcp_peer`, except for
// what HTTP headers repeat: the tool `sql`, and a prompt whose name no header can carry as it is.
import { createServer } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { completable, fromJsonSchema, inputRequired, McpServer, ResourceTemplate } from "@modelcontextprotocol/server";
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import * as z from "zod";
import { addFeatures, features } from "./modern_server_features.mjs";
import { httpHandler } from "./modern_server_http.mjs";

// State of the process: each modern request over HTTP has a server object of its own.
let cancelled = false;
let shown = false;
let toolsChanged = () => {};
let resourceUpdated = () => {};

function build() {
  const server = new McpServer(
    { name: "peer", version: "1" },
    {
      instructions: "Be kind.",
      capabilities: { logging: {}, tools: { listChanged: true }, resources: { subscribe: true }, extensions: features.extensions },
    },
  );
  const text = (text) => ({ content: [{ type: "text", text }] });

  server.registerTool(
    "add",
    { description: "Adds.", inputSchema: z.object({ a: z.int(), b: z.int() }), outputSchema: z.object({ sum: z.int() }) },
    ({ a, b }) => ({ ...text(`${a + b}`), structuredContent: { sum: a + b } }),
  );
  server.registerTool(
    "work",
    { description: "Reports progress and logs.", inputSchema: z.object({ steps: z.int() }) },
    async ({ steps }, ctx) => {
      for (let step = 1; step <= steps; step++) {
        await progress(ctx, step, steps, `step ${step}`);
        await ctx.mcpReq.log("warning", `step ${step}`, "work");
      }
      return text("worked");
    },
  );
  server.registerTool(
    "confirm",
    { description: "Asks the user.", inputSchema: z.object({ what: z.string() }) },
    ({ what }, ctx) => {
      const answer = ctx.mcpReq.inputResponses?.sure;
      if (answer === undefined) {
        const requestedSchema = { type: "object", properties: { sure: { type: "boolean" } }, required: ["sure"] };
        const sure = inputRequired.elicit({ message: `Really ${what}?`, requestedSchema });
        return inputRequired({ inputRequests: { sure }, requestState: `asked/${what}` });
      }
      return text(`${ctx.mcpReq.requestState()} ${answer.action} ${answer.content.sure}`);
    },
  );
  server.registerTool("wait", { description: "Waits until it is cancelled." }, async (ctx) => {
    await progress(ctx, 1, 2, "waiting");
    await new Promise((resolve) => ctx.mcpReq.signal.addEventListener("abort", resolve));
    cancelled = true;
    return text("waited");
  });
  server.registerTool("was_cancelled", { description: "Whether a call was cancelled since the last question." }, () => {
    const was = cancelled;
    cancelled = false;
    return text(was ? "yes" : "no");
  });
  server.registerTool(
    "change",
    { description: "Shows or hides the tool `extra`.", inputSchema: z.object({ shown: z.boolean() }) },
    (args) => {
      shown = args.shown;
      if (shown) extra.enable();
      else extra.disable();
      toolsChanged();
      return text("changed");
    },
  );
  const extra = server.registerTool("extra", { description: "Is not always there." }, () => text("extra"));
  if (!shown) extra.disable();

  const header = (type, name) => ({ type, "x-mcp-header": name });
  const properties = { region: header("string", "Region"), limit: header("integer", "Limit") };
  const inputSchema = fromJsonSchema({ type: "object", properties });
  server.registerTool("sql", { description: "Repeats its arguments.", inputSchema }, ({ region, limit = 1 }) =>
    text(`${region} ${limit}`),
  );

  addFeatures(server, (uri) => resourceUpdated(uri));

  const config = { description: "The configuration.", mimeType: "application/json" };
  server.registerResource("app", "config://app", config, (uri) => ({
    contents: [{ uri: uri.href, mimeType: "application/json", text: '{"on":true}' }],
  }));
  const template = new ResourceTemplate("greeting://{name}", { list: undefined });
  server.registerResource("greeting", template, { description: "Greets." }, (uri, { name }) => ({
    contents: [{ uri: uri.href, text: `Hello, ${decodeURIComponent(name)}!` }],
  }));
  const languages = ["python", "pytorch", "rust"];
  const language = completable(z.string(), (value) => languages.filter((name) => name.startsWith(value)));
  server.registerPrompt("review", { description: "Reviews.", argsSchema: z.object({ language }) }, ({ language }) => ({
    messages: [{ role: "user", content: { type: "text", text: `Review this ${language}` } }],
  }));
  server.registerPrompt("grüßen", { description: "Greets." }, () => ({
    messages: [{ role: "user", content: { type: "text", text: "Hallo" } }],
  }));
  return server;
}

async function progress(ctx, progress, total, message) {
  const progressToken = ctx.mcpReq._meta?.progressToken;
  if (progressToken === undefined) return;
  await ctx.mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total, message } });
}

// The port is the last argument, the era the first.
const words = process.argv.slice(2);
const only = words.length > 1 ? words[0] : undefined;
const way = words.at(-1);
if (way === "stdio" && only === "legacy") {
  await build().connect(new StdioServerTransport());
} else if (way === "stdio") {
  serveStdio(build, { legacy: only === "modern" ? "reject" : "serve" });
} else {
  const { fetch, notify } = httpHandler(build, only);
  toolsChanged = () => notify.toolsChanged();
  resourceUpdated = (uri) => notify.resourceUpdated(uri);
  createServer(toNodeHandler({ fetch })).listen(Number(way), "127.0.0.1", () => console.error(`listening on port ${way}`));
}
