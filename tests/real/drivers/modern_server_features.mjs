// What modern_server.mjs offers beside its simple tools, as features.json describes it.
import { readFileSync } from "node:fs";
import { fromJsonSchema, inputRequired } from "@modelcontextprotocol/server";
import * as z from "zod";

export const features = JSON.parse(readFileSync(new URL("./features.json", import.meta.url), "utf8"));

const { use, used, counter, blob } = features;
const text = (text) => ({ content: [{ type: "text", text }] });

// State of the process, as in modern_server.mjs.
let clicks = 0;

// Adds tools and resources. `updated` tells those who listen to a resource over HTTP.
export function addFeatures(server, updated) {
  const tool = (name, more, act) => server.registerTool(name, { ...features.tools[name], ...more }, act);

  tool("rich", {}, () => features.rich);
  tool("sequence", { outputSchema: fromJsonSchema(features.sequence.schema) }, () => ({
    ...text(JSON.stringify(features.sequence.value)),
    structuredContent: features.sequence.value,
  }));
  tool("sample", {}, (ctx) => {
    const answer = ctx.mcpReq.inputResponses?.sampled;
    const ask = (params, requestState) => inputRequired({ inputRequests: { sampled: inputRequired.createMessage(params) }, requestState });
    if (answer === undefined) return ask(features.sample, "first");
    if (answer.stopReason !== "toolUse") return text(`${ctx.mcpReq.requestState()}, then ${answer.content.text}`);
    const messages = [
      ...features.sample.messages,
      { role: "assistant", content: [use] },
      { role: "user", content: [used] },
    ];
    const [{ type, name, input }] = answer.content;
    return ask({ ...features.sample, messages }, `${type} ${name} ${input.city}`);
  });
  tool("where", {}, (ctx) => {
    const answer = ctx.mcpReq.inputResponses?.roots;
    if (answer === undefined) return inputRequired({ inputRequests: { roots: inputRequired.listRoots() }, requestState: "asked" });
    return text(answer.roots.map(({ uri, name }) => `${uri} ${name}`).join());
  });
  tool("login", {}, (ctx) => {
    const answer = ctx.mcpReq.inputResponses?.login;
    const { message, url } = features.login;
    if (answer === undefined) return inputRequired({ inputRequests: { login: inputRequired.elicitUrl({ message, url }) }, requestState: "asked" });
    return text(answer.action);
  });
  tool("seen", {}, (ctx) => {
    const meta = Object.entries(ctx.mcpReq._meta ?? {});
    const foreign = meta.filter(([key]) => !key.startsWith("io.modelcontextprotocol/") && key !== "progressToken");
    const declared = (name) => ctx.mcpReq.envelope?.[`io.modelcontextprotocol/${name}`];
    const capabilities = declared("clientCapabilities") ?? server.server.getClientCapabilities();
    const spoken = declared("protocolVersion") ?? server.server.getNegotiatedProtocolVersion();
    return text(JSON.stringify({ meta: Object.fromEntries(foreign), capabilities, spoken }));
  });
  tool("bump", { inputSchema: z.object({ to: z.int() }) }, async ({ to }) => {
    clicks = to;
    await server.server.sendResourceUpdated({ uri: counter });
    updated(counter);
    return text("bumped");
  });

  const dot = { description: "A dot.", mimeType: blob.mimeType, _meta: { "example.com/resource": 1 } };
  server.registerResource("dot", blob.uri, dot, (uri) => ({
    contents: [{ uri: uri.href, mimeType: blob.mimeType, blob: blob.base64 }],
  }));
  server.registerResource("clicks", counter, { description: "Counts.", mimeType: "text/plain" }, (uri) => ({
    contents: [{ uri: uri.href, mimeType: "text/plain", text: `${clicks}` }],
  }));
  // Legacy clients; `subscriptions/listen` is the SDK's own work.
  server.server.setRequestHandler("resources/subscribe", () => ({}));
  server.server.setRequestHandler("resources/unsubscribe", () => ({}));
}
