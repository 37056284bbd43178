// Holds the modern conversation with the TypeScript SDK, and prints one line of JSON a step.
//
//   node modern_client.mjs URL
//   node modern_client.mjs COMMAND ARGS…
//
// $PREFIX is the prefix of tool and prompt names, where there are several servers; $TOKEN a bearer token.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [target, ...args] = process.argv.slice(2);
const prefix = process.env.PREFIX ?? "";
const print = (step, value) => console.log(JSON.stringify({ step, value }));
const attempt = async (step, promise) => {
  try {
    print(step, await promise);
  } catch (error) {
    print(step, { failed: error.message, code: error.code });
  }
};

const options = {
  capabilities: { elicitation: { form: {} } },
  // No fallback to a handshake.
  versionNegotiation: { mode: { pin: "2026-07-28" } },
};
const client = new Client({ name: "typescript", version: "1" }, options);
client.setRequestHandler("elicitation/create", ({ params }) => {
  print("asked", params);
  return { action: "accept", content: { sure: true } };
});
const logs = [];
let told;
const changed = new Promise((resolve) => (told = resolve));
client.setNotificationHandler("notifications/message", ({ params }) => void logs.push(params));
client.setNotificationHandler("notifications/tools/list_changed", () => told(true));

const requestInit = { headers: { Authorization: `Bearer ${process.env.TOKEN ?? "none"}` } };
const transport = target.startsWith("http:")
  ? new StreamableHTTPClientTransport(new URL(target), { requestInit })
  : new StdioClientTransport({ command: target, args, env: process.env, stderr: "inherit" });
await client.connect(transport);

const _meta = { "io.modelcontextprotocol/logLevel": "warning" };
const call = (name, args, more) => client.callTool({ name: prefix + name, arguments: args, _meta }, more);

print("discover", await client.discover());
print("version", client.getNegotiatedProtocolVersion());
print("tools", await client.listTools());
print("add", await call("add", { a: 2, b: 3 }));

// The progress may come with the answer, when this SDK has stopped listening; that of `wait` does not.
print("work", await call("work", { steps: 3 }, { onprogress: () => {} }));
print("logs", logs);

print("confirm", await call("confirm", { what: "„delete“ 😀" }));
await attempt("unknown tool", call("nothing", {}));

print("resources", await client.listResources());
print("templates", await client.listResourceTemplates());
print("read", await client.readResource({ uri: "config://app" }));
print("read template", await client.readResource({ uri: "greeting://W%C3%B6rld" }));
await attempt("unknown resource", client.readResource({ uri: "config://nothing" }));

print("prompts", await client.listPrompts());
print("prompt", await client.getPrompt({ name: `${prefix}review`, arguments: { language: "rust" } }));
const ref = { type: "ref/prompt", name: `${prefix}review` };
print("completion", await client.complete({ ref, argument: { name: "language", value: "py" } }));

const stop = new AbortController();
const onprogress = (step) => (print("progress", step), stop.abort("enough"));
await attempt("cancelled", call("wait", {}, { signal: stop.signal, onprogress }));
while ((await call("was_cancelled", {})).content[0].text !== "yes") await new Promise((resolve) => setTimeout(resolve, 10));
print("server knows", true);

const listening = await client.listen({ toolsListChanged: true });
print("listens", listening.honoredFilter);
await call("change", { shown: true });
print("told", await changed);
print("changed", (await client.listTools(undefined, { cacheMode: "refresh" })).tools.map((tool) => tool.name).sort());
await listening.close();
print("restored", await call("change", { shown: false }));
await client.close();
print("closed", true);
