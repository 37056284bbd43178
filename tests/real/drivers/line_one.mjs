// The client of the TypeScript SDK 1.x with the calls of 2.x that modern_client.mjs uses.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as types from "@modelcontextprotocol/sdk/types.js";

export { StdioClientTransport, StreamableHTTPClientTransport };

const schemas = {
  "roots/list": types.ListRootsRequestSchema,
  "sampling/createMessage": types.CreateMessageRequestSchema,
  "elicitation/create": types.ElicitRequestSchema,
  "notifications/message": types.LoggingMessageNotificationSchema,
  "notifications/resources/updated": types.ResourceUpdatedNotificationSchema,
  "notifications/tools/list_changed": types.ToolListChangedNotificationSchema,
};

export class LineOne extends Client {
  constructor(info, { capabilities }) {
    super(info, { capabilities });
  }

  setRequestHandler(method, act) {
    super.setRequestHandler(schemas[method] ?? method, act);
  }

  setNotificationHandler(method, act) {
    super.setNotificationHandler(schemas[method] ?? method, act);
  }

  callTool(params, options) {
    return super.callTool(params, undefined, options);
  }

  // This line tells the version to its transport, and to nobody else.
  connect(transport) {
    const set = transport.setProtocolVersion?.bind(transport);
    transport.setProtocolVersion = (version) => {
      this.version = version;
      set?.(version);
    };
    return super.connect(transport);
  }

  getNegotiatedProtocolVersion() {
    return this.version;
  }
}
