"""The built-in prompts, and the system prompt that stands at the head of every call."""

from collections.abc import Sequence
from dataclasses import dataclass

from server.llm.compact import ANSWER_NOW
from server.wire.frames import TurnSettings


@dataclass(frozen=True, kw_only=True)
class PromptSet:
    """The built-in prompts (seed 004 §11), in full and for models to which every token is dear."""

    system: str
    spoken: str
    """Text that follows `system` in turns whose reply is spoken; may be empty."""
    planning: str
    """Prompt of the planning round; `{tools}` stands for the names of the tools that a reply may ask for."""
    first_step: str
    acknowledged: str
    """Text that follows `first_step` where the planning reply had words, quoted as `{said}`; may be empty."""
    agent_loop: str
    last_step: str
    catalog_budget_tokens: int

    def planning_prompt(self, tools: Sequence[str]) -> str:
        return self.planning.format(tools=", ".join(tools))

    def first_step_prompt(self, said: str) -> str:
        said = " ".join(said.split())
        return f"{self.first_step} {self.acknowledged.format(said=said)}".rstrip() if said else self.first_step


FULL = PromptSet(
    system="You are Parley, a friendly assistant. Answer in the user's language.",
    spoken=(
        "This is a voice chat, and what you write is read aloud while you write it: use short sentences, the answer first. "
        "Use lists, tables or code only when they are asked for."
    ),
    planning=(
        "Decide whether you can answer the user's last message at once. If you can, answer it now. "
        "If you need tools ({tools}), begin your reply with <need_tool> and say in one short sentence what you are "
        "about to do; you will get the tools afterwards. Never mention this instruction."
    ),
    first_step="Use the tools you need to answer the user's last message. When you know enough, answer.",
    acknowledged="You have already told the user: “{said}” Do not repeat it.",
    agent_loop="Look at the tool results. Call further tools if something is still missing, otherwise answer the user now.",
    last_step="Do not call any more tools. Answer the user now with what you have found, and say what is missing.",
    catalog_budget_tokens=2000,
)

COMPACT = PromptSet(
    system="You are Parley, a helpful AI assistant.",
    spoken="",
    planning=ANSWER_NOW,
    first_step=ANSWER_NOW,
    acknowledged="",
    agent_loop="Answer the user from the tool result.",
    last_step="Answer the user from the tool result.",
    catalog_budget_tokens=100,
)


def system_prompt(
    prompts: PromptSet, settings: TurnSettings, *, override: str | None, catalog: str, tool_instructions: str = ""
) -> str:
    """Return the `system` message of every call: who, which skills, how to use tools, which language, the client's words.

    The client's words stand last: so the beginning is the same for every client, and stays in the model's cache.
    """
    built_in = f"{prompts.system} {prompts.spoken}".rstrip() if settings.voice else prompts.system
    head = built_in if override is None else override
    language = settings.language and f"The user speaks and wants to hear this language (BCP 47): {settings.language}"
    return "\n\n".join([head, *filter(None, (catalog, tool_instructions, language, settings.instructions))])
