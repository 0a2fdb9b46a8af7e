"""The embedded model's decision whether a sentence asks for a deed, for which words are not enough.

Left to itself, a very small model promises what it is asked for. Shown examples, it sorts most sentences rightly:
a grammar leaves it two labels, and a bias decides for an answer where it is not sure.
"""

from contextlib import aclosing
from typing import Final

from server.llm.client import OpenAICompatible
from server.llm.language_model import Message, ModelRequest, TextDelta

CANNOT: Final = "I can't do that here: I have no tool for it."

_WORDS, _HANDS = "words", "hands"  # one token each
_EXAMPLES: Final = (
    (_HANDS, "Turn off the radio."),
    (_WORDS, "What is a radio?"),
    (_HANDS, "Remind me to buy bread."),
    (_WORDS, "Name two animals."),
    (_HANDS, "Send Tom a letter."),
    (_WORDS, "Tell me a riddle."),
    (_HANDS, "Can you open the window?"),
    (_WORDS, "How do I open a tin?"),
    (_HANDS, "Book a flight to Rome."),
    (_WORDS, "I have been to Rome."),
    (_HANDS, "Set an alarm for eight."),
    (_WORDS, "Hello"),
    (_HANDS, "Please play the radio."),
    (_WORDS, "Write a poem about radio."),
    (_HANDS, "Order new shoes."),
    (_WORDS, "Thank you"),
    (_HANDS, "Put eggs on my list."),
    (_WORDS, "Give me an idea for lunch."),
    (_HANDS, "Could you close the curtains?"),
    (_WORDS, "Could you explain rain?"),
    (_HANDS, "Delete the old files."),
    (_WORDS, "And in summer?"),
    (_HANDS, "Buy a ticket for the train."),
    (_WORDS, "Are you alive?"),
    (_WORDS, "Can you help me?"),
    (_WORDS, "Recommend a film."),
    (_HANDS, "Write to Ben and send it."),
    (_WORDS, "Spell bicycle."),
    (_HANDS, "Make it darker in here."),
    (_WORDS, "Make it shorter."),
    (_HANDS, "Would you wash the car?"),
    (_WORDS, "How do I wash a car?"),
)
_MESSAGES: Final[tuple[Message, ...]] = (
    {"role": "system", "content": f"Say {_WORDS} if words are enough, and {_HANDS} if hands are needed."},
    *(
        {"role": role, "content": text}
        for label, sentence in _EXAMPLES
        for role, text in (("user", sentence), ("assistant", label))
    ),
)
_OPTIONS: Final = {
    "temperature": 0,
    "max_tokens": 1,
    "grammar": f'root ::= "{_WORDS}" | "{_HANDS}"',
    "logit_bias": [[_WORDS, 5.5]],  # so far apart were deeds and questions, among 160 sentences that no test has
}


async def asks_for_deed(client: OpenAICompatible, sentence: str) -> bool:
    """Let the model decide. Raises ProviderError."""
    request = ModelRequest(messages=[*_MESSAGES, {"role": "user", "content": sentence}])
    label = ""
    async with aclosing(client.stream_with(request, _OPTIONS)) as events:
        async for event in events:
            label += event.text if isinstance(event, TextDelta) else ""
    return label == _HANDS
