"""Registers of plants, and whole ranges of tables: one value that is written far."""

import re
from typing import Final

from server.policy.danger.arguments.call import Call
from server.policy.danger.names.judge import only_looks

_BUSES: Final = frozenset(
    "modbus plc s7 siemens opcua opc bacnet knx scada canbus can profinet profibus dnp3 iec104 ethercat hart mbus zigbee2mqtt dali".split()
)
_WRITTEN: Final = ("value", "values", "coils", "payload", "write", "setpoint")
_TABLES: Final = frozenset("sheet sheets spreadsheet excel table range cells".split())
_RANGE: Final = re.compile(r"(?:^|!)\$?[A-Z]{1,3}\$?(\d{1,7})?:\$?[A-Z]{1,3}\$?(\d{1,7})?\Z")
_MANY_ROWS: Final = 100


def by_plants(call: Call) -> str | None:
    if only_looks(call.tool) or _BUSES.isdisjoint(call.words):
        return None
    return "writes to a plant" if any(call.given.get(key) is not None for key in _WRITTEN) else None


def by_ranges(call: Call) -> str | None:
    """One value for a whole range: what stood there is gone."""
    values = call.given.get("values")
    if (
        only_looks(call.tool)
        or "append" in call.words
        or _TABLES.isdisjoint(call.words)
        or not isinstance(values, list)
        or len(values) > 1
    ):
        return None
    match = _RANGE.search(str(call.given.get("range", "")))
    if match is None:
        return None
    first, last = int(match[1] or 1), int(match[2] or 1_000_000)
    return "overwrites a whole range" if last - first >= _MANY_ROWS else None
