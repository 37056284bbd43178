#!/usr/bin/env node
// A stand-in for auggie: the same command line, tool and error without a login. Every call returns how it was
// started.
import { createInterface } from "node:readline";

if (!process.env.AUGMENT_SESSION_AUTH) {
  console.error("❌ No auth provided. Please log in with `auggie login` or set the AUGMENT_SESSION_AUTH environment variable.");
  process.exit(1);
}

const started = () => ({ argv: process.argv.slice(2), script: process.argv[1], env: process.env, cwd: process.cwd(), pid: process.pid });
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "auggie-stand-in", version: "0.36.0" },
  }),
  "tools/list": () => ({ tools: [{ name: "codebase-retrieval", inputSchema: { type: "object" } }] }),
  "tools/call": () => ({ content: [{ type: "text", text: JSON.stringify(started()) }] }),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = answers[method];
  const outcome = answer ? { result: answer(params) } : { error: { code: -32601, message: "Method not found" } };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...outcome }));
}
