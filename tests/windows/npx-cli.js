// What npm's `npx-cli.js` comes to: the package's shim, started by cmd.exe, with our own streams.
const { spawn } = require("child_process");
const words = process.argv.slice(2).filter((word) => word !== "-y");
const options = { stdio: "inherit", windowsVerbatimArguments: true };
const child = spawn(process.env.ComSpec || "cmd.exe", ["/d", "/s", "/c", `"${words.join(" ")}"`], options);
child.on("exit", (code) => process.exit(code));
