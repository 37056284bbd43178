// Holds modern conversations with the TypeScript SDK, and prints one line of JSON a step.
//
//   [LINE=1] node modern_client.mjs
//
// Each line of the input is the JSON of one conversation: `target` is [URL] or [COMMAND, ARGS…], `era` is `modern` or `legacy`, `cwd`
// and `env` are for the command. With the legacy era the client makes a handshake, and leaves out what only the modern era has.
//
// `prefix` is that of tool and prompt names, where there are several servers; `token` a bearer token. `silent` means a server that
// does not tell of changed tools, `stateless` one that has no sessions: it can neither ask nor tell, and hears of no cancellation.
// With $LINE=1 it uses the SDK 1.x, which knows the legacy era only.
import { createInterface } from "node:readline";
import { answerQuestions, capabilities, holdFeatures } from "./modern_client_features.mjs";

const { Client, StdioClientTransport, StreamableHTTPClientTransport } = await sdk(process.env.LINE);
const print = (step, value) => console.log(JSON.stringify({ step, value }));
const attempt = async (step, promise) => {
  try {
    print(step, await promise);
  } catch (error) {
    print(step, { failed: error.message, code: error.code });
  }
};

for await (const line of createInterface({ input: process.stdin })) await hold(JSON.parse(line));
process.exit();

async function hold({ target, era, env, cwd, prefix = "", token = "none", silent, stateless }) {
  const isLegacy = era === "legacy";
  const options = {
    capabilities,
    // No fallback to the other era.
    versionNegotiation: { mode: isLegacy ? "legacy" : { pin: "2026-07-28" } },
  };
  const client = new Client({ name: "typescript", version: "1" }, options);
  answerQuestions(client, print);
  const logs = [];
  let told;
  const changed = new Promise((resolve) => (told = resolve));
  let tellUpdate;
  const updated = new Promise((resolve) => (tellUpdate = resolve));
  client.setNotificationHandler("notifications/message", ({ params }) => void logs.push(params));
  client.setNotificationHandler("notifications/tools/list_changed", () => told(true));
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => tellUpdate(params));

  const requestInit = { headers: { Authorization: `Bearer ${token}` } };
  const [command, ...args] = target;
  const transport = command.startsWith("http:")
    ? new StreamableHTTPClientTransport(new URL(command), { requestInit })
    : new StdioClientTransport({ command, args, cwd, env: { ...process.env, ...env }, stderr: "inherit" });
  await client.connect(transport);

  const _meta = isLegacy ? {} : { "io.modelcontextprotocol/logLevel": "warning" };
  const call = (name, args, more, meta) =>
    client.callTool({ name: prefix + name, arguments: args, _meta: { ..._meta, ...meta } }, more);

  if (isLegacy) {
    print("server", [client.getServerVersion(), client.getServerCapabilities(), client.getInstructions()]);
    // The legacy server of the Python SDK has no levels, and logs everything.
    await client.setLoggingLevel("warning").catch(() => {});
    print("ping", await client.ping());
  } else {
    print("discover", await client.discover());
  }
  print("version", client.getNegotiatedProtocolVersion());
  print("tools", await client.listTools());
  print("add", await call("add", { a: 2, b: 3 }));

  // The progress may come with the answer, when this SDK has stopped listening; that of `wait` does not.
  print("work", await call("work", { steps: 3 }, { onprogress: () => {} }));
  // A server may send them on a stream of their own.
  while (logs.length < 3) await new Promise((resolve) => setTimeout(resolve, 5));
  print("logs", logs);

  if (!stateless) print("confirm", await call("confirm", { what: "„delete“ 😀" }));
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

  await holdFeatures({ client, call, print, attempt, isLegacy, updated, canBeAsked: !stateless, canBeTold: !stateless });

  if (!stateless) {
    const stop = new AbortController();
    const onprogress = (step) => (print("progress", step), stop.abort("enough"));
    await attempt("cancelled", call("wait", {}, { signal: stop.signal, onprogress }));
    while ((await call("was_cancelled", {})).content[0].text !== "yes") await new Promise((resolve) => setTimeout(resolve, 10));
    print("server knows", true);
  }

  if (silent || stateless) {
    await client.close();
    return print("closed", true);
  }
  const listening = isLegacy ? undefined : await client.listen({ toolsListChanged: true });
  print("listens", listening?.honoredFilter);
  await call("change", { shown: true });
  print("told", await changed);
  print("changed", (await client.listTools(undefined, { cacheMode: "refresh" })).tools.map((tool) => tool.name).sort());
  await listening?.close();
  print("restored", await call("change", { shown: false }));
  await client.close();
  print("closed", true);
}

async function sdk(line) {
  if (line === "1") {
    const { LineOne, ...transports } = await import("./line_one.mjs");
    return { Client: LineOne, ...transports };
  }
  const [{ Client, StreamableHTTPClientTransport }, { StdioClientTransport }] = await Promise.all([
    import("@modelcontextprotocol/client"),
    import("@modelcontextprotocol/client/stdio"),
  ]);
  return { Client, StdioClientTransport, StreamableHTTPClientTransport };
}
