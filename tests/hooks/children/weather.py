"""A tool that a hook brings along: offered in before_llm, answered in before_tool (seed 001)."""

import json
import sys
from typing import Any

WEATHER = {"北京": "北京天气:晴,温度15°C,湿度45%", "上海": "上海天气:多云,温度18°C,湿度60%"}
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "查询指定城市的天气信息",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "hook.hello":
        return {"ok": True, "name": "weather-plugin"}
    if method == "hook.before_llm":
        request = {key: params.get(key) for key in ("model", "messages")}
        request |= {"tools": [*params.get("tools", []), TOOL], "options": params.get("options", {})}
        return {"action": "modify", "request": request}
    if method == "hook.before_tool" and params.get("tool") == "get_weather":
        text = WEATHER.get(params.get("arguments", {}).get("city", ""))
        result = {"for_llm": text or "no such city", "for_user": "", "silent": False, "is_error": text is None}
        return {"action": "respond", "result": result}
    return {"action": "continue"}


for line in sys.stdin:
    message = json.loads(line)
    if message.get("id"):
        result = answer(message["method"], message.get("params") or {})
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}) + "\n")
        sys.stdout.flush()
