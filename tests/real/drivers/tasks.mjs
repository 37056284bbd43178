// Runs tools of FastMCP's server for the conformance suite as tasks, with the TypeScript SDK 1.x, and prints one line of
// JSON a step.
//
//   node tasks.mjs PREFIX (COMMAND ARGS… | URL TOKEN)
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema, CreateTaskResultSchema, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [prefix, target, ...args] = process.argv.slice(2);
const transport = target.startsWith("http:")
  ? new StreamableHTTPClientTransport(new URL(target), { requestInit: { headers: { Authorization: `Bearer ${args[0]}` } } })
  : new StdioClientTransport({ command: target, args, stderr: "inherit" });
const client = new Client({ name: "tasks", version: "1" }, { capabilities: { elicitation: { form: {} } } });
const tasks = client.experimental.tasks;
const print = (step, value) => console.log(JSON.stringify({ step, value }));
const attempt = async (step, promise) => {
  try {
    print(step, await promise);
  } catch (error) {
    print(step, { error: error.code });
  }
};

const asked = [];
client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
  asked.push(params);
  const [field] = Object.keys(params.requestedSchema.properties);
  return { action: "accept", content: { [field]: `my ${field}` } };
});

// The messages of a call that runs as a task: each status once, and the result or error.
const run = async (name, given = {}) => {
  const statuses = [];
  asked.length = 0;
  let task;
  for await (const message of tasks.callToolStream({ name: prefix + name, arguments: given }, undefined, { task: { ttl: 60000 } })) {
    if (message.type === "taskCreated" || message.type === "taskStatus") {
      task = message.task.taskId;
      if (statuses.at(-1) !== message.task.status) statuses.push(message.task.status);
    } else {
      const related = asked.every((params) => params._meta["io.modelcontextprotocol/related-task"].taskId === task);
      const said = message.type === "result" ? message.result.content[0].text : message.error.message;
      return { statuses, said, asked: asked.map((params) => params.message), related };
    }
  }
};
const begin = async (name, given = {}) => {
  const params = { name: prefix + name, arguments: given };
  const { task } = await client.request({ method: "tools/call", params }, CreateTaskResultSchema, { task: {} });
  return task.taskId;
};

await client.connect(transport);
print("tasks", client.getServerCapabilities().tasks);
const { tools } = await client.listTools();
print("support", tools.find((tool) => tool.name === `${prefix}slow_compute`).execution);
print("works", await run("slow_compute", { seconds: 0.3, label: "x" }));
print("at once", await run("greet", { name: "Ann" }));
print("asks", await run("confirm_delete", { filename: "f" }));
print("asks twice", await run("multi_input"));

const failing = await begin("failing_job");
print("fails", await tasks.getTaskResult(failing, CallToolResultSchema));
print("failed", (await tasks.getTask(failing)).status);
const error = await begin("protocol_error_job");
await attempt("breaks", tasks.getTaskResult(error, CallToolResultSchema));
const slow = await begin("slow_compute", { seconds: 600 });
print("cancels", ["working", "cancelled"].includes((await tasks.cancelTask(slow)).status));
await attempt("cancelled", tasks.getTaskResult(slow, CallToolResultSchema));
await attempt("unknown", tasks.getTask("no such task"));
print("waits", (await client.callTool({ name: `${prefix}failing_job`, arguments: {} })).isError);
await client.close();
