"""As much of WebDriver as the tests in WebKit need: https://www.w3.org/TR/webdriver2/."""

from typing import Any, Final

from aiohttp import ClientSession

from tests.e2e.parley_page import LIMIT_S

_ELEMENT: Final = "element-6066-11e4-a52e-4f735466cecf"
ENTER: Final = "\ue007"
ESCAPE: Final = "\ue00c"

# Resolves as soon as the expression holds; what it throws while the page is being drawn counts as no.
_UNTIL: Final = """
const done = arguments[arguments.length - 1];
const holds = () => { try { return (EXPRESSION); } catch { return false; } };
(function look() { const value = holds(); value ? done(value) : setTimeout(look, 20); })();
"""


# This driver tells nothing of the console, and runs nothing before the page: a page that breaks while it loads is never connected.
_WATCH: Final = """
window.complaints = [];
const note = (...said) => window.complaints.push(said.join(" "));
const { error } = console;
console.error = (...said) => { note(...said); error(...said); };
addEventListener("error", ({ message }) => note(message));
addEventListener("unhandledrejection", ({ reason }) => note(reason));
"""


class WebDriverError(Exception):
    """The text is the driver's."""


class WebDriver:
    """One window of one browser. Elements are named by CSS selectors or XPaths; the first that matches counts, and is waited for."""

    def __init__(self, http: ClientSession, driver_url: str) -> None:
        self._http = http
        self._base = driver_url
        self.complaints: list[str] = []
        """What the console said of errors, of pages that were left."""

    async def open(self, options: dict[str, Any]) -> None:
        limit_ms = round(1000 * LIMIT_S)
        capabilities = {"webkitgtk:browserOptions": options, "timeouts": {"script": limit_ms, "implicit": limit_ms}}
        session = await self._call("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})
        self._base += f"/session/{session['sessionId']}"

    async def close(self) -> None:
        await self._leave()
        await self._call("DELETE", "")

    async def go(self, url: str) -> None:
        await self._leave()
        await self._call("POST", "/url", {"url": url})
        await self._call("POST", "/execute/sync", {"script": _WATCH, "args": []})

    async def reload(self) -> None:
        await self._leave()
        await self._call("POST", "/refresh", {})
        await self._call("POST", "/execute/sync", {"script": _WATCH, "args": []})

    async def _leave(self) -> None:
        self.complaints += await self.read("window.complaints ?? []")

    async def read(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        return await self._call("POST", "/execute/sync", {"script": f"return ({expression})", "args": []})

    async def until(self, expression: str) -> Any:
        """Wait until it is true, and return its value. Raises WebDriverError after LIMIT_S."""
        script = _UNTIL.replace("EXPRESSION", expression)
        try:
            return await self._call("POST", "/execute/async", {"script": script, "args": []})
        except WebDriverError as error:
            raise WebDriverError(f"{error}\nwaited for: {expression}") from error

    async def click(self, selector: str) -> None:
        await self._call("POST", f"/element/{await self._found(selector)}/click", {})

    async def write(self, selector: str, keys: str) -> None:
        await self._call("POST", f"/element/{await self._found(selector)}/value", {"text": keys})

    async def press(self, key: str, *, is_down: bool) -> None:
        action = {"type": "keyDown" if is_down else "keyUp", "value": key}
        await self._call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": [action]}]})

    async def _found(self, selector: str) -> str:
        using = "xpath" if selector.startswith("//") else "css selector"
        found = await self._call("POST", "/element", {"using": using, "value": selector})
        element: str = found[_ELEMENT]
        return element

    async def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        async with self._http.request(method, self._base + path, json=body) as response:
            value = (await response.json())["value"]
        if isinstance(value, dict) and "error" in value:
            raise WebDriverError(f"{value['error']}: {value['message']}")
        return value
