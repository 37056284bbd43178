// Drives server-everything with the official TypeScript SDK and prints one line of JSON a step.
//
//   node typescript.mjs (1 | 2-legacy | 2-auto) COMMAND ARGS…
//   node typescript.mjs (1 | 2-legacy | 2-auto) URL (http | sse) TOKEN [PREFIX]
//
// PREFIX (or $PREFIX) is the prefix of tool and prompt names where there are several servers. Where 2-auto finds the modern era, it
// leaves out what only the legacy era has, and listens instead of subscribing.
const [flavour, command, ...args] = process.argv.slice(2);
const isRemote = command.startsWith("http:");
const prefix = (isRemote && args[2]) || process.env.PREFIX || "";

const { client, transport, on, call: callPlain } = flavour === "1" ? await lineOne() : await lineTwo();

const call = ({ name, ...rest }, options) => callPlain({ name: prefix + name, ...rest }, options);
const print = (step, value) => console.log(JSON.stringify({ step, value }));
const attempt = async (step, promise) => {
  try {
    print(step, await promise);
  } catch (error) {
    print(step, { error: error.code, message: error.message });
  }
};

// Answers to the server's requests.
on("roots/list", () => ({ roots: [{ uri: "file:///home/someone/project", name: "project" }] }));
on("sampling/createMessage", ({ params }) => {
  print("asked for sampling", params);
  return { role: "assistant", model: "none", content: { type: "text", text: "sampled – äöü" } };
});
on("elicitation/create", ({ params }) => {
  print("asked to elicit", params.message);
  return { action: "accept", content: { name: "Ada", check: true, integer: 7 } };
});

// Notifications of the server, by kind. The number of `list_changed` may differ: Switchboard merges bursts.
const said = { message: [], updated: [], tools: false };
let told = () => {};
const until = async (fact) => {
  while (!fact()) await new Promise((resolve) => (told = resolve));
};
on("notifications/message", ({ params }) => (said.message.push(params), told()));
on("notifications/resources/updated", ({ params }) => (said.updated.push(params), told()));
on("notifications/tools/list_changed", () => ((said.tools = true), told()));

await client.connect(transport);
const isModern = flavour === "2-auto" && client.getNegotiatedProtocolVersion() === "2026-07-28";
if (isModern) print("modern", true);
print("server", [client.getServerVersion(), client.getServerCapabilities(), client.getInstructions()]);
const showRoots = () => call({ name: "get-roots-list", arguments: {} });
// The server also asks by itself a moment after its start, and keeps what it is told first. A modern client can tell it its
// roots only within a call, so that must be the first one.
const firstRoots = isModern ? await showRoots() : undefined;
// A server whose lists are stored starts with its first call.
print("echo", await call({ name: "echo", arguments: { message: "„hi“ 😀" } }));
if (!isModern) {
  await until(() => said.message.length > 0);
  print("roots were taken", said.message);

  print("ping", await client.ping());
}
print("tools", await client.listTools());
print("resources", await client.listResources());
print("templates", await client.listResourceTemplates());
print("prompts", await client.listPrompts());
print("prompt", await client.getPrompt({ name: `${prefix}args-prompt`, arguments: { city: "Zürich" } }));
print("read", await client.readResource({ uri: "demo://resource/dynamic/text/7" }));
const ref = { type: "ref/prompt", name: `${prefix}completable-prompt` };
print("completion", await client.complete({ ref, argument: { name: "department", value: "S" } }));
if (!isModern) print("level", await client.setLoggingLevel("debug"));

print("structured", await call({ name: "get-structured-content", arguments: { location: "Chicago" } }));
print("image", await call({ name: "get-tiny-image", arguments: {} }));
print("roots", firstRoots ?? (await showRoots()));
await attempt("unknown tool", call({ name: "no-such-tool", arguments: {} }));
await attempt("unknown resource", client.readResource({ uri: "demo://nowhere" }));

const operation = { name: "trigger-long-running-operation", arguments: { duration: 1, steps: 4 } };
const progress = [];
// This SDK adds a step with a message of its own when a server asks for roots meanwhile.
const onprogress = (step) => step.message || progress.push(step);
print("long", await call(operation, { onprogress }));
// The last progress comes with the answer, when this SDK may have stopped listening.
print("progress", progress.slice(0, 3));

print("sampling", await call({ name: "trigger-sampling-request", arguments: { prompt: "p" } }));
print("elicitation", await call({ name: "trigger-elicitation-request", arguments: {} }));

const both = ["one", "two", "three"].map((message) => call({ name: "echo", arguments: { message } }));
print("at once", await Promise.all(both));

const stop = new AbortController();
const hour = { name: "trigger-long-running-operation", arguments: { duration: 3600, steps: 36000 } };
await attempt("cancelled", call(hour, { signal: stop.signal, onprogress: () => stop.abort("enough") }));

const uri = "demo://resource/dynamic/text/1";
const listening = isModern ? await client.listen({ resourceSubscriptions: [uri] }) : undefined;
if (!isModern) print("subscribe", await client.subscribeResource({ uri }));
const toggle = () => call({ name: "toggle-subscriber-updates", arguments: {} });
print("toggle", await toggle());
if (isModern) {
  // A subscription may be acknowledged before its server knows of it, and the server tells once each time that it is turned on.
  const pause = () => new Promise((resolve) => setTimeout(resolve, 200));
  for (await pause(); said.updated.length === 0; await pause()) {
    await toggle();
    await toggle();
  }
}
await until(() => said.updated.length > 0);
print("updated", [{ uri: said.updated[0].uri }]);
print("toggle", await toggle());
if (isModern) {
  await listening.close();
} else {
  print("unsubscribe", await client.unsubscribeResource({ uri }));
  print("said", said);
}

await client.close();
print("closed", true);

async function lineOne() {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
  const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const { SSEClientTransport } = await import("@modelcontextprotocol/sdk/client/sse.js");
  const types = await import("@modelcontextprotocol/sdk/types.js");
  const schemas = {
    "roots/list": types.ListRootsRequestSchema,
    "sampling/createMessage": types.CreateMessageRequestSchema,
    "elicitation/create": types.ElicitRequestSchema,
    "notifications/message": types.LoggingMessageNotificationSchema,
    "notifications/resources/updated": types.ResourceUpdatedNotificationSchema,
    "notifications/tools/list_changed": types.ToolListChangedNotificationSchema,
  };
  const client = new Client({ name: "typescript-1", version: "1" }, { capabilities: capabilities() });
  const on = (method, act) => {
    if (method.startsWith("notifications/")) client.setNotificationHandler(schemas[method], act);
    else client.setRequestHandler(schemas[method], act);
  };
  const call = (params, options) => client.callTool(params, undefined, options);
  const transport = transportOf(StdioClientTransport, StreamableHTTPClientTransport, SSEClientTransport);
  return { client, transport, on, call };
}

async function lineTwo() {
  const { Client, StreamableHTTPClientTransport, SSEClientTransport } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const mode = flavour === "2-auto" ? "auto" : "legacy";
  const options = { capabilities: capabilities(), versionNegotiation: { mode } };
  const client = new Client({ name: "typescript-2", version: "1" }, options);
  const on = (method, act) => {
    if (method.startsWith("notifications/")) client.setNotificationHandler(method, act);
    else client.setRequestHandler(method, act);
  };
  const call = (params, options) => client.callTool(params, options);
  const transport = transportOf(StdioClientTransport, StreamableHTTPClientTransport, SSEClientTransport);
  return { client, transport, on, call };
}

function transportOf(Stdio, Streamable, Events) {
  if (!isRemote) return new Stdio({ command, args, stderr: "inherit" });
  const [way, token] = args;
  const requestInit = { headers: { Authorization: `Bearer ${token}` } };
  return way === "sse" ? new Events(new URL(command), { requestInit }) : new Streamable(new URL(command), { requestInit });
}

function capabilities() {
  return { roots: { listChanged: true }, sampling: {}, elicitation: { form: {} } };
}
