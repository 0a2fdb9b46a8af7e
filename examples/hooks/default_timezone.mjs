#!/usr/bin/env node
// Rewrites arguments: where the model asks for the time and names no time zone, the user's is put in.
//
//   hooks:
//     processes:
//       default_timezone:
//         enabled: true
//         command: [node, default_timezone.mjs]
//         dir: examples/hooks
//         env: {HOME_TIMEZONE: Europe/Zurich}
//         intercept: [before_tool]

import readline from "node:readline";

const HOME = process.env.HOME_TIMEZONE || "UTC"; // what `env` sets, and little else, is there

function beforeTool(params) {
  const given = params.arguments || {};
  if (params.tool !== "current_time" || given.timezone) {
    return { action: "continue" };
  }
  // `arguments` replaces the arguments as a whole, so the others are copied. The
  // changed call still has to fit the tool's schema, and still needs its approval.
  return { action: "modify", call: { tool: params.tool, arguments: { ...given, timezone: HOME } } };
}

const methods = {
  "hook.hello": () => ({ name: "default-timezone" }),
  "hook.before_tool": beforeTool,
};

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line);
  if (message.id === undefined) return; // a notification wants no answer
  const reply = { jsonrpc: "2.0", id: message.id };
  const method = methods[message.method];
  if (method) {
    reply.result = method(message.params || {});
  } else {
    reply.error = { code: -32601, message: "method not found" };
  }
  // console.log would do; anything else that is printed belongs to console.error
  process.stdout.write(JSON.stringify(reply) + "\n");
});
