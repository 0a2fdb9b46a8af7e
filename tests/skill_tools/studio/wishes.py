"""Twenty wishes and what a scripted model drafts for them: first with the mistakes that models make, then mended.

Each wish is answered by the replies in turn; what a reply leaves out is as in the one before.
"""

import json
from typing import Any

Json = dict[str, Any]


def hook(name: str, text: str, **keys: Any) -> Json:
    return {"name": name, "text": text, "timing": "after_user_input", "role": "system", "persistent": False, **keys}


def update(name: str, sets: Json, **keys: Any) -> Json:
    return {"name": name, "timing": "after_user_input", "set": sets, **keys}


def says(name: str, user: str, *fires: str, **turn: Any) -> Json:
    return {"name": name, "user": user, **turn, "expect": {"fires": ["hint", *fires]}}


def turns(name: str, *said: tuple[str, Any]) -> Json:
    """Expect of each turn what stands beside its words; `fires` without the hook that the skill has already."""
    expected = [
        {**expect, **({"fires": ["hint", *expect["fires"]]} if "fires" in expect else {})} for _, expect in said
    ]
    each = zip(said, expected, strict=True)
    return {"name": name, "turns": [{"user": user, "expect": expect} for (user, _), expect in each]}


def draft(*hooks: Json, tests: list[Json], **variables: Any) -> str:
    return json.dumps({"hooks": hooks, "variables": variables, "tests": tests}, ensure_ascii=False)


def fenced(reply: str) -> str:
    return f"Here is the hook:\n\n```json\n{reply}\n```\n\nIt fires when its condition holds."


NIGHT = {"time": {"from": "22:00", "to": "06:00"}}
NIGHT_TESTS = [
    says("speaks softly at night", "Hello", "night", time="23:30"),
    says("after midnight, too", "Hello", "night", time="03:00"),
    says("not at noon", "Hello", time="12:00"),
]
FORGETFUL_TESTS = [{**test, "expect": {"fires": test["expect"]["fires"][1:]}} for test in NIGHT_TESTS]
MONEY_TESTS = [
    says("warns of loans", "Which loans are cheap?", "money"),
    says("warns of shares", "Should I buy shares?", "money"),
    says("says nothing of the weather", "Will it rain?"),
]
PRO_TESTS = [
    says("thanks who pays", "Hello", "pro", context={"plan": "pro"}),
    says("not on another plan", "Hello", context={"plan": "free"}),
    says("not where nothing is known", "Hello"),
]
FAILED = [{"need_tools": "Let me look."}, {"calls": [{"tool": "shop__refund", "error": "no"}]}, {"answer": "Sorry."}]
WORKED = [{"need_tools": "Let me look."}, {"calls": [{"tool": "shop__refund", "result": "ok"}]}, {"answer": "Done."}]
FAILED_TESTS = [
    says("asks for the number", "Refund", "failed", script=FAILED),
    says("not when it works", "Refund", script=WORKED),
    says("not without a tool", "Hello"),
]
QUIZ_HOOKS = (
    update("right", {"score": {"add": 1}}, when={"user_text": ["paris"]}),
    hook("praise", "Say that they know it well.", when={"variables": {"score": {"min": 2}}}),
)
QUIZ_TESTS = [
    turns(
        "counts", ("Paris", {"variables": {"score": 1}}), ("Paris!", {"variables": {"score": 2}, "fires": ["praise"]})
    ),
    turns("a wrong answer counts nothing", ("Rome", {"variables": {"score": 0}})),
    says("no praise at once", "Paris"),
]
SPOKEN_TESTS = [
    says("is brief when spoken", "Why?", "brief", spoken=True),
    says("also in voice", "Why?", "brief", spoken=True, channel="voice"),
    says("not when read", "Why?"),
]
LANGUAGE_TESTS = [
    says("formal in German", "Hallo", "formal", language="de"),
    says("in Austria, too", "Hallo", "formal", language="de-AT"),
    says("not in English", "Hello", language="en"),
]
ONCE_TESTS = [
    turns("once", ("Hi", {"fires": ["welcome"]}), ("And?", {"fires": []})),
    turns("not again later", ("Hi", {"fires": ["welcome"]}), ("And?", {"fires": []}), ("So?", {"fires": []})),
    says("on any word", "What?", "welcome"),
]
NAME_MATCH = {"from": "user_text", "match": "/my name is ([\\p{L}'-]+)/i"}
NAME_TESTS = [
    turns("keeps the name", ("My name is Zoë", {"variables": {"name": "Zoë"}}), ("Hi", {"fires": ["by-name"]})),
    turns("nothing without one", ("Hello", {"variables": {"name": ""}, "fires": []})),
    turns(
        "the latest counts", ("My name is A", {"fires": ["by-name"]}), ("my name is B", {"variables": {"name": "B"}})
    ),
]


def by_name(**keys: Any) -> Json:
    when = {"not": {"variables": {"name": ""}}}
    return hook("by-name", "The user says to be called {{var.name}}.", vars=True, when=when, **{"role": "user", **keys})


def cut(when: Json) -> Json:
    return hook("cut", "Be careful: you were interrupted.", when=when)


CUT_TESTS = [
    says("careful after it", "Wait", "cut", interrupted=True),
    says("not otherwise", "Wait"),
    says("not in voice alone", "Wait", channel="voice"),
]
PICTURE_TESTS = [
    says("describes it", "What is it?", "picture", attachments=["image"]),
    says("not of a document", "What is it?", attachments=["document"]),
    says("not of words", "What is it?"),
]
QUESTION_TESTS = [
    says("a question", "Why is that?", "question"),
    says("with a space behind it", "Why? ", "question"),
    says("a statement", "That is so."),
]
HUMAN_TESTS = [
    says("hands over", "I want a human", "human"),
    says("an agent, too", "Give me an agent", "human"),
    says("not otherwise", "Hello"),
]
THREE_TESTS = [
    turns("at every third", *[("a", {"fires": []}), ("b", {"fires": []}), ("c", {"fires": ["third"]})]),
    turns("and counts on", *[("a", {"fires": []}), ("b", {"variables": {"n": 2}})]),
    says("not at the first", "a"),
]
THIRD = (
    update("count", {"n": {"add": 1}}),
    hook("third", "Ask how it goes.", when={"variables": {"n": {"min": 3}}}, set={"n": 0}),
)
OPERATOR_TESTS = [
    says("is told of operators", "Hi", "ops", operator=True),
    says("not of users", "Hi", user_name="anna"),
    says("not of strangers", "Hi"),
]
WEEKEND_TESTS = [
    says("on Sundays", "Hi", "weekend", time="sun 12:00"),
    says("on Saturdays", "Hi", "weekend", time="sat 09:00"),
    says("not on Mondays", "Hi", time="mon 12:00"),
]
LONG_TESTS = [
    says("a long message", "word " * 60, "long"),
    says("a short one", "word"),
    says("no more than fifty", "word " * 20),
]
PRIVATE = [{"need_tools": "I look."}, {"calls": [{"tool": "read_file", "result": "secret"}]}, {"answer": "Read."}]
PRIVATE_TESTS = [
    says("careful after a file", "Read it", "private", script=PRIVATE),
    says("not without one", "Hello"),
    says("not after another tool", "Refund", script=WORKED),
]
REMINDER_TESTS = [
    turns("three times", *[("a", {"fires": ["remind"]})] * 3, ("b", {"fires": []})),
    says("at first", "a", "remind"),
    turns("counts", ("a", {"variables": {"told": 1}})),
]
MOOD_TESTS = [
    turns("picks one", ("Tell me a story", {"fires": ["mood"]})),
    says("not otherwise", "Hello"),
    turns("each time", ("a story", {"fires": ["mood"]}), ("another story", {"fires": ["mood"]})),
]
MOOD = hook(
    "mood",
    "Tell it in this mood: {{var.mood}}.",
    vars=True,
    when={"user_text": ["story"]},
    set={"mood": {"pick": ["merry", "grave", "calm"]}},
)

WISHES: dict[str, list[str]] = {
    "Speak softly at night.": [
        draft(hook("night", "Speak softly.", when=NIGHT), tests=FORGETFUL_TESTS),
        draft(hook("night", "Speak softly.", when=NIGHT), tests=NIGHT_TESTS),
    ],
    "Warn when money comes up.": [
        draft(hook("money", "Say that this is no advice.", when={"keywords": ["loan"]}), tests=MONEY_TESTS),
        draft(hook("money", "Say that this is no advice.", when={"user_text": ["loan", "share"]}), tests=MONEY_TESTS),
        draft(hook("money", "Say that this is no advice.", when={"user_text": ["loans", "shares"]}), tests=MONEY_TESTS),
    ],
    "Thank those on the plan pro.": [
        fenced(draft(hook("pro", "Thank them.", when={"context": {"plan": "pro"}}), tests=PRO_TESTS))
    ],
    "When a refund fails, ask for the order number.": [
        draft(
            hook("failed", "Ask for the number.", when={"tool": ["shop__*"], "tool_status": ["error"]}),
            tests=FAILED_TESTS,
        ),
        draft(
            hook(
                "failed", "Ask for it.", timing="after_tool_call", when={"tool": ["shop__*"], "tool_status": ["error"]}
            ),
            tests=FAILED_TESTS,
        ),
    ],
    "Keep a score in my quiz, the answer is Paris.": [
        draft(*QUIZ_HOOKS, tests=QUIZ_TESTS),  # `score` is no variable yet
        draft(*QUIZ_HOOKS, tests=QUIZ_TESTS, score=0),
    ],
    "Be brief when the reply is spoken.": [
        draft(hook("brief", "One sentence.", when={"spoken": True}), tests=SPOKEN_TESTS)
    ],
    "Formal German with people who speak German.": [
        draft(hook("formal", "Sie, nicht du.", when={"language": "de"}), tests=LANGUAGE_TESTS),
        draft(hook("formal", "Sie, nicht du.", when={"language": ["de"]}), tests=LANGUAGE_TESTS),
    ],
    "Welcome people once.": [
        draft(hook("welcome", "Welcome them.", once=True), tests=ONCE_TESTS),
        draft(hook("welcome", "Welcome them.", once="conversation"), tests=ONCE_TESTS),
    ],
    "Remember my name and use it.": [
        draft(
            update("name", {"name": {"from": "user_text", "match": "my name is (?=[A-Z])(\\w+)"}}),
            by_name(role="system"),
            tests=NAME_TESTS,
            name="",
        ),
        draft(
            update("name", {"name": {"from": "user_text", "match": "/my name is (\\w+)/i"}}),
            by_name(),
            tests=NAME_TESTS,
            name="",
        ),
        draft(update("name", {"name": NAME_MATCH}), by_name(), tests=NAME_TESTS, name=""),
    ],
    "Be careful after you were interrupted.": [
        draft(cut({"interrupted": "yes"}), tests=CUT_TESTS),
        draft(cut({"interrupted": True}), tests=CUT_TESTS),
    ],
    "Describe pictures that are attached.": [
        "Of course! I would add a hook that describes pictures.",
        draft(hook("picture", "Describe it.", when={"attachments": ["image"]}), tests=PICTURE_TESTS),
    ],
    "Answer questions in one sentence.": [
        draft(hook("question", "One sentence.", when={"user_text": ["/\\?$/"]}), tests=QUESTION_TESTS),
        draft(hook("question", "One sentence.", when={"user_text": ["/\\?\\s*$/"]}), tests=QUESTION_TESTS),
    ],
    "Hand over to a human when asked.": [
        draft(hook("human", "Say who to call.", when={"user_text": ["human", "agent"]}), tests=HUMAN_TESTS[:2]),
        draft(hook("human", "Say who to call.", when={"user_text": ["human", "agent"]}), tests=HUMAN_TESTS),
    ],
    "Ask how it goes at every third turn.": [draft(*THIRD, tests=THREE_TESTS, n=0)],
    "Tell operators more.": [
        draft(hook("ops", "Give details.", when={"user": ["operator"]}, file="../../ops.md"), tests=OPERATOR_TESTS),
        draft(hook("ops", "Give details.", when={"user": ["operator"]}), tests=OPERATOR_TESTS),
    ],
    "Be cheerful on weekends.": [
        draft(hook("weekend", "Be cheerful.", when={"time": {"days": ["sat", "sun"]}}), tests=WEEKEND_TESTS),
    ],
    "Sum up long messages first.": [
        draft(hook("long", "Sum it up.", when={"user_text": ["/(\\S+\\s+){50,}/"]}), tests=LONG_TESTS)
    ],
    "Be careful with private files.": [
        draft(
            hook("private", "Quote nothing.", timing="after_tool_use", when={"tool": ["read_file"]}),
            tests=PRIVATE_TESTS,
        ),
        draft(
            hook("private", "Quote nothing.", timing="after_tool_call", when={"tool": ["read_file"]}),
            tests=PRIVATE_TESTS,
        ),
    ],
    "Remind me of the water, three times at most.": [
        draft(
            hook("remind", "Remind them to drink.", when={"variables": {"told": {"max": 3}}}, set={"told": {"add": 1}}),
            tests=REMINDER_TESTS,
            told=0,
        ),
        draft(
            hook("remind", "Remind them to drink.", when={"variables": {"told": {"max": 2}}}, set={"told": {"add": 1}}),
            tests=REMINDER_TESTS,
            told=0,
        ),
    ],
    "Tell stories in a mood drawn at random.": [draft(MOOD, tests=MOOD_TESTS, mood="calm")],
}
"""The replies of the model by wish, in the order in which it gives them."""
