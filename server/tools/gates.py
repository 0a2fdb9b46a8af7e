"""What a call passes before it may run: hooks, schema, policy, approval."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from server.hooks.interception.members import Member
from server.hooks.interception.pipeline import Answered, Denied, Edited
from server.hooks.layers import TurnHooks
from server.tool_calls import MAX_EDITS, ToolInvocation, ToolOutcome
from server.tools.arguments import parse_arguments
from server.tools.course import Course
from server.tools.registry import ToolRegistry

Gate = Callable[[Course], Awaitable[ToolOutcome | None]]
"""A stage before the run: None lets the call pass, an outcome ends it."""


class Gates:
    """Those of one turn, in their order. Without hooks and policy: parsed → found → fits its schema."""

    def __init__(self, registry: ToolRegistry, hooks: TurnHooks | None) -> None:
        self._registry = registry
        self._hooks = hooks
        gates: list[Gate] = [self._parse]
        if hooks is not None and hooks.pipeline.has("before_tool"):
            gates.append(self._before_tool)
        gates.append(self._find)
        if hooks is not None and (hooks.policy is not None or hooks.pipeline.has("approve_tool")):
            gates.append(self._judge)
        self._gates = tuple(gates)

    async def pass_through(self, course: Course) -> ToolOutcome | None:
        """None: the call may run. Raises TurnAborted."""
        for gate in self._gates:
            if (outcome := await gate(course)) is not None:
                return outcome
        course.is_ready = True
        return None

    async def _parse(self, course: Course) -> ToolOutcome | None:
        parsed = parse_arguments(course.call.arguments)
        course.name = course.call.name
        course.given = course.arguments = parsed.value
        if parsed.problem is None:
            return None
        return course.refused(f"the arguments are not JSON ({parsed.problem}); call again with a JSON object")

    async def _before_tool(self, course: Course) -> ToolOutcome | None:
        if not isinstance(course.arguments, dict):
            return None  # nothing that hooks know; the next stage refuses it
        assert self._hooks is not None
        course.tool = self._registry.get(course.name)  # the model's; a hook may name another
        match await self._hooks.pipeline.before_tool(course.invocation()):
            case Denied(text=text):
                return course.refused(text, "denied")
            case Answered() as answer:
                course.answer = answer  # to the call as the model made it, whatever hooks before have made of it
            case ToolInvocation(name=name, arguments=arguments):
                course.name, course.arguments = name, arguments
        return None

    async def _find(self, course: Course) -> ToolOutcome | None:
        """The tool that will run, and whether the arguments fit it. A hook's answer needs neither a tool nor,
        to a tool of its own, a schema."""
        course.tool = self._registry.get(course.name)
        if self._is_free(course):
            return None
        if course.tool is not None:
            return self._misfit(course)
        if course.answer is not None and isinstance(course.arguments, dict):
            return None
        if self._hooks is not None and (hook := self._hooks.pipeline.injector(course.name)) is not None:
            return course.refused(f"{course.name} did not run: the hook {hook}, whose tool it is, gave no result")
        outcome = course.refused(f"there is no tool {course.name}; there are: {', '.join(self._registry.names)}")
        return replace(outcome, name=course.call.name)  # a hook may have written anything, and providers are touchy

    def _misfit(self, course: Course) -> ToolOutcome | None:
        assert course.tool is not None
        misfit = course.tool.explain_misfit(course.arguments)
        if misfit is None and not isinstance(course.arguments, dict):
            misfit = "an object is wanted"
        return course.refused(f"the arguments do not fit {course.name}: {misfit}") if misfit else None

    def _is_free(self, course: Course) -> bool:
        """Whether a hook answers that needs nobody's leave: for a tool that it brought along itself."""
        if course.answer is None:
            return False
        assert self._hooks is not None
        if self._hooks.layers.respond_policy == "any":
            return True
        return course.tool is None and self._hooks.pipeline.injector(course.name) == course.answer.hook

    async def _judge(self, course: Course) -> ToolOutcome | None:
        """Policy, then approval. Who approves may change the arguments: then all of it once more."""
        if self._is_free(course):
            return None
        assert self._hooks is not None
        editor: Member | None = None
        for _ in range(MAX_EDITS + 1):
            if (outcome := await self._ask_policy(course)) is not None:
                return outcome
            match await self._hooks.pipeline.approve_tool(await self._ask(course), editor=editor):
                case None:
                    return None
                case Denied(text=text):
                    return course.refused(text, "denied")
                case Edited(editor=editor, call=call):
                    course.arguments = call.arguments
            if course.tool is not None and (outcome := self._misfit(course)) is not None:
                return outcome
        return course.refused("not run: its arguments were changed too often while it was approved", "denied")

    async def _ask_policy(self, course: Course) -> ToolOutcome | None:
        assert self._hooks is not None
        if self._hooks.policy is None:
            return None
        match await self._hooks.policy.before(course.invocation()):
            case ToolOutcome() as outcome:
                return outcome
            case judged if judged.arguments != course.arguments:
                course.arguments = judged.arguments
                return None if course.tool is None else self._misfit(course)
        return None

    async def _ask(self, course: Course) -> ToolInvocation:
        assert self._hooks is not None
        shown: Any = await self._hooks.conceal(course.arguments)
        return replace(course.invocation(), shown=None if shown is course.arguments else shown)
