"""What model calls share with the call before, and what hooks cost."""

from itertools import takewhile

from hypothesis import given
from hypothesis import strategies as st

from server.agent.costs import PROCESS_HOOK, CallCost, CommonStart, CostMeter, HookName, PromptPart
from skill_tools.authoring.simulate import HookCost, hook_costs

SYSTEM = PromptPart("system", "s" * 400)
USER = PromptPart("user", "u" * 40)
SHORT = PromptPart("user", "u")
STEP = PromptPart("system", "use your tools")
CALLS = PromptPart("assistant", "c" * 40)
RESULT = PromptPart("tool", "r" * 80)
MOOD = HookName("diary", "mood")
CLOCK = HookName("diary", "clock")


def hooked(hook: HookName, text: str = "h" * 20) -> PromptPart:
    return PromptPart("system", text, hook)


def compare(before: list[PromptPart], now: list[PromptPart]) -> CommonStart:
    meter = CostMeter()
    meter.measure(before)
    common = meter.measure(now).common
    assert common is not None
    return common


def test_the_first_call_has_none_before_it() -> None:
    cost = CostMeter().measure([SYSTEM, USER, hooked(MOOD, "h" * 5)])

    assert cost == CallCost(tokens=112, hooks=[(MOOD, 2)], common=None)


def test_each_call_is_compared_with_the_one_before_it() -> None:
    meter = CostMeter()

    costs = [meter.measure(prompt) for prompt in ([SYSTEM], [SYSTEM, USER], [USER])]

    assert [cost.common and cost.common.tokens for cost in costs] == [None, 100, 0]


def test_an_equal_prompt_is_the_same_to_its_end() -> None:
    assert compare([SYSTEM, USER], [SYSTEM, USER]) == CommonStart(110, 1.0, None, 0)
    assert compare([SYSTEM, USER], [SYSTEM]) == CommonStart(100, 1.0, None, 0)
    assert compare([], []) == CommonStart(0, 0.0, None, 0)
    assert compare([SHORT], [SHORT]) == CommonStart(1, 1.0, None, 0)


def test_a_prompt_that_only_grew_is_the_same_up_to_what_is_new() -> None:
    assert compare([SYSTEM, USER], [SYSTEM, USER, CALLS, RESULT]) == CommonStart(110, 0.786, None, 0)


def test_the_difference_is_found_inside_a_message() -> None:
    longer = PromptPart("system", "s" * 300 + "x" * 100)

    assert compare([SYSTEM, USER], [longer, USER]) == CommonStart(75, 0.682, None, 0)


def test_a_message_in_another_role_is_another_message() -> None:
    assert compare([SYSTEM, USER], [SYSTEM, PromptPart("system", USER.text)]).tokens == 100


def test_a_hook_that_left_ends_the_common_part_and_may_cost_nothing_else() -> None:
    common = compare([SYSTEM, USER, hooked(MOOD), STEP], [SYSTEM, USER, CALLS, RESULT, hooked(MOOD), STEP])

    assert (common.tokens, common.ended_by, common.lost_tokens) == (110, MOOD, 0)


def test_a_built_in_prompt_that_left_is_no_hooks_doing() -> None:
    common = compare([SYSTEM, USER, STEP], [SYSTEM, USER, hooked(MOOD), PromptPart("system", "go on")])

    assert (common.tokens, common.ended_by, common.lost_tokens) == (110, None, 0)


def test_a_hook_that_left_before_what_stays_costs_that() -> None:
    common = compare([SYSTEM, hooked(MOOD), USER, CALLS, RESULT], [SYSTEM, USER, CALLS, RESULT, STEP])

    assert (common.tokens, common.ended_by, common.lost_tokens) == (100, MOOD, 40)


def test_a_hook_that_came_before_what_was_there_costs_that() -> None:
    common = compare([SYSTEM, USER, CALLS], [hooked(MOOD), SYSTEM, USER, CALLS])

    assert (common.tokens, common.ended_by, common.lost_tokens) == (0, MOOD, 120)


def test_a_clock_at_the_head_costs_the_rest_of_the_prompt() -> None:
    before = [hooked(CLOCK, "It is 14:05."), SYSTEM, hooked(MOOD), USER]
    common = compare(before, [hooked(CLOCK, "It is 14:06."), SYSTEM, hooked(MOOD), USER, CALLS])

    assert (common.tokens, common.ended_by, common.lost_tokens) == (4, CLOCK, 115)


def test_of_several_hooks_that_differ_the_first_is_named() -> None:
    common = compare([SYSTEM, hooked(MOOD), hooked(CLOCK), USER], [SYSTEM, USER, STEP])

    assert (common.ended_by, common.lost_tokens) == (MOOD, 10)


def test_costs_of_hooks_are_summed_and_the_dearest_comes_first() -> None:
    meter = CostMeter()
    clocks = [hooked(CLOCK, f"It is 14:0{minute}.") for minute in range(3)]

    costs = hook_costs(meter.measure([clock, SYSTEM, hooked(MOOD)]) for clock in clocks)

    assert costs == [HookCost(CLOCK, tokens=15, lost_calls=2, lost_tokens=210), HookCost(MOOD, tokens=15)]


def test_what_process_hooks_write_is_not_counted_but_may_cost_the_cache() -> None:
    meter = CostMeter()

    calls = [meter.measure([hooked(PROCESS_HOOK, text), USER]) for text in ("14:05", "14:06")]

    assert calls[1].hooks == []
    assert hook_costs(calls) == [HookCost(PROCESS_HOOK, tokens=0, lost_calls=1, lost_tokens=10)]


def test_of_equal_costs_the_name_decides() -> None:
    costs = hook_costs([CostMeter().measure([hooked(MOOD), hooked(CLOCK)])])

    assert [cost.hook for cost in costs] == [CLOCK, MOOD]


def test_a_hook_that_is_gone_is_named_for_what_it_still_cost() -> None:
    meter = CostMeter()
    meter.measure([hooked(MOOD), SYSTEM])

    assert hook_costs([meter.measure([SYSTEM])]) == [HookCost(MOOD, tokens=0, lost_calls=1, lost_tokens=100)]


PARTS = st.lists(
    st.builds(PromptPart, st.sampled_from(["user", "system"]), st.text("ab", max_size=9), st.sampled_from([None, MOOD]))
)


@given(PARTS, PARTS)
def test_the_common_part_ends_at_the_first_difference(before: list[PromptPart], now: list[PromptPart]) -> None:
    common = compare(before, now)

    same = [new for _, new in takewhile(lambda pair: pair[0][:2] == pair[1][:2], zip(before, now, strict=False))]
    least = sum(-(-len(part.text) // 4) for part in same)
    rest = now[len(same) :]
    assert least <= common.tokens <= least + (len(rest[0].text) // 4 if rest else 0)
    assert 0 <= common.share <= 1
    assert common.tokens + common.lost_tokens <= sum(-(-len(part.text) // 4) for part in now)
    if common.lost_tokens:
        assert common.ended_by == MOOD
