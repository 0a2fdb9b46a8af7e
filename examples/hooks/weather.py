#!/usr/bin/env python3
"""A tool of its own: offered to the model in before_llm, answered in before_tool.

    hooks:
      processes:
        weather:
          enabled: true
          command: [python3, weather.py]
          dir: examples/hooks
          intercept: [before_llm, before_tool]

The server knows no tool get_weather. This hook adds it to what the model is
offered, and when the model calls it, this hook is asked first and gives the result.
"""

import json
import sys

WEATHER = {"zürich": "sunny, 15 °C", "tokyo": "rain, 18 °C", "nairobi": "cloudy, 24 °C"}  # ask a real service here

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city, now.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "Its name, such as Tokyo"}},
            "required": ["city"],
        },
    },
}


def before_llm(params):
    # Give back the request with one tool more; what we leave out stays as it was.
    # The other three keys are here for hosts that want the whole request.
    return {
        "action": "modify",
        "request": {
            "model": params["model"],
            "messages": params["messages"],
            "tools": [*params.get("tools", []), TOOL],
            "options": params.get("options", {}),
        },
    }


def before_tool(params):
    if params["tool"] != "get_weather":
        return {"action": "continue"}  # not ours: let it run
    city = str(params.get("arguments", {}).get("city", ""))
    weather = WEATHER.get(city.lower())
    if weather is None:
        return {"action": "respond", "result": {"for_llm": f"No weather is known for {city}.", "is_error": True}}
    return {"action": "respond", "result": {"for_llm": f"{city}: {weather}"}}


METHODS = {
    "hook.hello": lambda _: {"name": "weather"},
    "hook.before_llm": before_llm,
    "hook.before_tool": before_tool,
}

for line in sys.stdin:  # one message a line; ends when the server closes our input
    message = json.loads(line)
    if "id" not in message:
        continue  # a notification wants no answer
    reply = {"jsonrpc": "2.0", "id": message["id"]}  # the id as it came
    method = METHODS.get(message["method"])
    if method:
        reply["result"] = method(message.get("params", {}))
    else:
        reply["error"] = {"code": -32601, "message": "method not found"}
    print(json.dumps(reply), flush=True)  # flush, or it never arrives
