// An IDE that gives its own streams to the program that it starts. `detached`: node's own job would end it with us.
// `SET_…` variables are set for that program, without the prefix: Wine replaces some of its own at its start. `PIDS` is a
// file for the numbers of both processes.
const [kind, program, ...args] = process.argv.slice(2);
const env = { ...process.env };
for (const name of Object.keys(env).filter((name) => name.startsWith("SET_"))) env[name.slice(4)] = env[name];
const child = require("child_process").spawn(program, args, { stdio: "inherit", detached: kind === "detached", env });
if (process.env.PIDS) require("fs").writeFileSync(process.env.PIDS, `${process.pid} ${child.pid} `);
setInterval(() => {}, 1000);
