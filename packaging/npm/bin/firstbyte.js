#!/usr/bin/env node
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const { executable } = require("../index.js");

let program;
try {
  program = executable();
} catch (error) {
  console.error(`error: ${error.message}`);
  process.exit(4);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// A terminal sends these to both: firstbyte ends in its own time, and reports what it has.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => signal === "SIGINT" || child.kill(signal));
}
child.on("error", (error) => {
  console.error(`error: \`${program}\` cannot be started: ${error.message}`);
  process.exit(4);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
