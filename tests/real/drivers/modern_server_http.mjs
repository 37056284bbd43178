// How modern_server.mjs serves each era over HTTP.
import { randomUUID } from "node:crypto";
import { createMcpHandler, isLegacyRequest, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";

// A handler of requests, and what tells modern clients of changes. `only`: the era that it speaks, or `sessionless`.
export function httpHandler(build, only) {
  const modern = createMcpHandler(build, { legacy: only === "sessionless" ? "stateless" : "reject" });
  const legacy = sessions(build);
  const isForSession = async (request) => only === "legacy" || (only === undefined && (await isLegacyRequest(request)));
  const fetch = async (request, options) =>
    (await isForSession(request)) ? legacy(request) : modern.fetch(request, options);
  return { fetch, notify: modern.notify };
}

// Gives each client a session, with a server object of its own.
function sessions(build) {
  const transports = new Map();
  return async (request) => {
    const id = request.headers.get("mcp-session-id");
    const known = transports.get(id);
    if (known) return known.handleRequest(request);
    if (id) return new Response("there is no such session", { status: 404 });
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void transports.set(id, transport),
      onsessionclosed: (id) => void transports.delete(id),
    });
    await build().connect(transport);
    return transport.handleRequest(request);
  };
}
