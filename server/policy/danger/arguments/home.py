"""Things of a house or a car: locks that open, guards that go off, heat without anybody there."""

from collections.abc import Sequence
from typing import Final

from server.policy.danger.arguments.call import Call
from server.policy.danger.lexicon.meanings import meanings

_STATES: Final = ("off", "on", "open", "unlock", "disarm")
"""Said by the tool's name, where no argument does."""
_STATE_KEYS: Final = ("service", "action", "state", "command", "call", "do", "value", "position", "set")
_DEVICE_KEYS: Final = (
    "domain",
    "entity_id",
    "entity",
    "device",
    "target",
    "zone",
    "device_id",
    "appliance",
    "name",
    "thing",
    "object",
    "room",
    "element",
    "what",
)
_HEAT_KEYS: Final = frozenset(
    "temperature_c temperature target_temperature degrees celsius target_c target temp temp_c setpoint value".split()
)
_HOT_C: Final = 30
_FROST_C: Final = 5


_HEATING: Final = "thermostat heating climate boiler sauna".split()
_GUARDED: Final = (
    "alarm lock door gate garage camera siren security smoke valve oven stove freezer fridge heater pump safe trunk window sauna fireplace grill kiln iron "
    "doorbell detector co2 childlock router modem nas server freezer breaker mains boiler"
).split()
_LOCKS: Final = "lock door gate garage cover safe trunk".split()
_GUARDS: Final = "alarm camera siren security smoke freezer fridge detector doorbell childlock router modem nas server breaker mains".split()
_HAZARDS: Final = "oven stove heater valve gas siren sauna fireplace grill kiln iron boiler".split()
_OPENING: Final = frozenset(
    "unlock open unlocked disarm alarm_disarm open_cover disarmed unlatch door_unlock unlock_doors release trunk_open remote_unlock set_cover_position".split()
)
_OFF: Final = frozenset(
    "off turn_off disable disabled stop mute deactivate power_off switch_off shutdown pause snooze bypass silence".split()
)
_ON: Final = frozenset("on turn_on start preheat open ignite activate switch_on power_on".split())


def by_home(call: Call) -> str | None:
    named = " ".join([*(str(call.given[key]) for key in _DEVICE_KEYS if key in call.given), call.tool])
    what = f"{named} {' '.join(meanings(named))}"
    low = what.lower()
    if _has(low, _HEATING) and _is_hot(call):
        return "heat without anybody there"
    if not _has(low, _GUARDED):
        return None
    state = _state(call)
    if _has(low, _HAZARDS) and (call.given.get("start") or call.given.get("program")) and state not in _OFF:
        return "heat, gas or water without anybody there"
    is_unlatched = state in ("turn_off", "off", "0", "false") and "light" not in what and _has(low, _LOCKS)
    if state in _OPENING or is_unlatched:
        return "opens the house"
    if state in _OFF and _has(low, _GUARDS) and "clock" not in what and "set_alarm" not in what:
        return "switches a guard off"
    return "heat, gas or water without anybody there" if state in _ON and _has(low, _HAZARDS) else None


def _has(low: str, parts: Sequence[str]) -> bool:
    return any(map(low.__contains__, parts))


def _state(call: Call) -> str:
    if isinstance(switch := call.given.get("on"), bool):
        return "on" if switch else "off"
    told = next((call.given[key] for key in _STATE_KEYS if call.given.get(key)), None)
    named = next((state for state in _STATES if state in call.words), "")
    state = str(told or named).lower().rsplit(".", maxsplit=1)[-1]
    return state if state.isascii() else "_".join(meanings(state))


def _is_hot(call: Call) -> bool:
    """Or so cold that pipes freeze."""
    if "_f" in " ".join(call.given) or str(call.given.get("unit", "")).lower().startswith("f"):  # Fahrenheit
        return False
    heats = (
        v for key, v in call.leaves if key in _HEAT_KEYS and isinstance(v, (int, float)) and not isinstance(v, bool)
    )
    degrees = next(heats, None)
    return degrees is not None and not _FROST_C < degrees < _HOT_C
