#!/usr/bin/env node
// Changes what the model said: e-mail addresses and card numbers never reach the user.
//
//   hooks:
//     stream_gate: sentence        # each sentence waits for the hook; without this line the whole reply does
//     processes:
//       redact:
//         enabled: true
//         command: [node, redact.mjs]
//         dir: examples/hooks
//         intercept: [after_llm]
//         on_error: closed         # a redactor that fails lets nothing through

import readline from "node:readline";

const PATTERNS = [
  [/[\w.+-]+@[\w-]+(\.[\w-]+)+/g, "[e-mail]"],
  [/\b(?:\d[ -]?){12,18}\d\b/g, "[number]"],
];

function afterLlm(params) {
  const before = params.response.content;
  const content = PATTERNS.reduce((text, [pattern, word]) => text.replace(pattern, word), before);
  if (content === before) return { action: "continue" };
  // The reply holds the whole of what we were sent, hence `response` twice: once the
  // params, and in them what the model said. Its tool_calls go back untouched.
  return { action: "modify", response: { ...params, response: { ...params.response, content } } };
}

const methods = {
  "hook.hello": () => ({ name: "redact" }),
  "hook.after_llm": afterLlm,
};

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line);
  if (message.id === undefined) return;
  const reply = { jsonrpc: "2.0", id: message.id };
  const method = methods[message.method];
  if (method) {
    reply.result = method(message.params || {});
  } else {
    reply.error = { code: -32601, message: "method not found" };
  }
  process.stdout.write(JSON.stringify(reply) + "\n");
});
