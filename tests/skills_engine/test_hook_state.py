"""What hooks remember from turn to turn, as a signed text that a client keeps."""

import pytest

from skills_engine import HookState, Signer, StateInvalidError
from skills_engine.conditions.turn_facts import MAX_STATE_BYTES, Firing

SIGNER = Signer([b"k" * 32])


def fired(hook: str, turn: int, until: int | None = None) -> Firing:
    return Firing("skill", hook, turn, until)


@pytest.mark.rule("L1-45")
def test_a_state_comes_back_as_it_went() -> None:
    state = HookState(3, (fired("grüße", 1, 5), fired('a "quoted" name\n', 3)))

    assert HookState.read(state.signed(SIGNER), SIGNER) == state


@pytest.mark.rule("L1-45")
def test_a_state_signed_with_an_older_key_is_read() -> None:
    rotated = Signer([b"n" * 32, b"k" * 32])

    assert HookState.read(HookState(7).signed(SIGNER), rotated) == HookState(7)


@pytest.mark.rule("L1-45")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        HookState(7).signed(SIGNER).replace("[7,", "[8,"),
        HookState(7).signed(Signer([b"o" * 32])),
        SIGNER.sign("", "", "", "[7,[]]") + " [7,[]]",  # a hook's signature is none of a state
        HookState(7).signed(SIGNER) + "\ud800",
        "ü" * MAX_STATE_BYTES,
        HookState(7).signed(SIGNER).ljust(MAX_STATE_BYTES + 1),
    ],
)
def test_a_forged_or_foreign_state_is_refused(text: str) -> None:
    with pytest.raises(StateInvalidError) as refused:
        HookState.read(text, SIGNER)

    is_large = len(text.encode(errors="surrogatepass")) > MAX_STATE_BYTES
    assert str(refused.value) == (
        "the state is larger than 16 KiB" if is_large else "the state has no valid signature of this server"
    )


@pytest.mark.rule("L1-45")
def test_a_state_is_compact_and_may_be_as_large_as_16_kib() -> None:
    def of(name: str) -> str:
        return HookState(3, (fired(name, 1),)).signed(SIGNER)

    full = of("x" * (MAX_STATE_BYTES - len(of(""))))

    assert of("a").partition(" ")[2] == '[3,[["skill","a",1,null]]]'
    assert len(full) == MAX_STATE_BYTES
    assert len(HookState.read(full, SIGNER).firings) == 1
    assert HookState.read(of("x" * MAX_STATE_BYTES), SIGNER) == HookState(3)


@pytest.mark.rule("L1-45")
def test_the_earliest_firings_leave_a_state_that_would_grow_over_16_kib() -> None:
    state = HookState(1900, tuple(fired(f"hook-{turn}", turn) for turn in range(1, 1900)))

    text = state.signed(SIGNER)
    kept = HookState.read(text, SIGNER)

    assert MAX_STATE_BYTES - 40 < len(text) <= MAX_STATE_BYTES
    assert 400 < len(kept.firings) < 1900
    assert kept == HookState(1900, state.firings[-len(kept.firings) :])


@pytest.mark.rule("L1-45")
def test_the_next_state_keeps_what_still_counts() -> None:
    state = HookState(4, (fired("over", 2, 4), fired("lasts", 2, 5), fired("for good", 1), fired("again", 3, 9)))

    following = state.next([fired("again", 5, 11)], {})

    assert following == HookState(5, (fired("for good", 1), fired("lasts", 2, 5), fired("again", 5, 11)))
