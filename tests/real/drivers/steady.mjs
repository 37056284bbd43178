// Loaded before a server (`node --import`): fixes its clock and random numbers, and disables its periodic work, so
// that two runs of one conversation can be compared byte for byte.
import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";

const NOON = Date.UTC(2026, 6, 28, 12);

globalThis.Date = class extends Date {
  constructor(...args) {
    super(...(args.length === 0 ? [NOON] : args));
  }
  static now() {
    return NOON;
  }
};

Math.random = () => 0.5;

let drawn = 0;
crypto.randomBytes = (size) => Buffer.alloc(size, ++drawn);
crypto.randomUUID = () => `00000000-0000-4000-8000-${String(++drawn).padStart(12, "0")}`;
syncBuiltinESMExports();

globalThis.setInterval = () => 0;
