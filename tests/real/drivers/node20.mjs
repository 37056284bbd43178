// Lets a program made for Node 22 start on Node 20, whose `fs` lacks `globSync`. Only a command that is not used
// here needs it.
import { register } from "node:module";

if (!("globSync" in (await import("node:fs")).default)) {
  const shim = "export * from 'node:fs'; export { default } from 'node:fs'; export const globSync = () => [];";
  const hooks = `export const resolve = (name, context, next) =>
    name === "fs" ? { url: ${JSON.stringify(`data:text/javascript,${encodeURIComponent(shim)}`)}, shortCircuit: true } : next(name, context);`;
  register(`data:text/javascript,${encodeURIComponent(hooks)}`);
}
