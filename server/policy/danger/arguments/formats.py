"""Texts in formats whose own words say what is done: calendars, directories, routers, printers, mailboxes, playbooks."""

import re
from typing import Final

from server.policy.danger.anchored import Anchored
from server.policy.danger.arguments import keys
from server.policy.danger.arguments.call import Call

_SIGNS: Final = Anchored(
    (re.compile(shape, re.MULTILINE), reason)
    for shape, reason in (
        (r"^METHOD:CANCEL\b|^STATUS:CANCELLED\b", "cancels an appointment"),  # RFC 5545
        (r"^changetype: ?(?:delete|modrdn)\b|^(?:delete|replace): ?(?:member|userPassword|uniqueMember|memberOf|olc\w+)", "changes a directory"),  # RFC 2849
        (r"\boperation=[\"'](?:delete|remove|replace)[\"']|<(?:delete-config|kill-session|edit-config|copy-config|discard-changes)\b", "changes a device"),  # RFC 6241
        (r"<(?:\w+:)?(?:Delete|Remove|Cancel|Terminate|Purge|Drop|Destroy|Transfer|Pay)\w*(?:Request)?[\s/>]", "does something for good over SOAP"),
        (r"^(?:\w+ )?(?:UID )?(?:STORE \S+ \+?FLAGS(?:\.SILENT)? \(?\\Deleted|EXPUNGE\b)|^[a-zA-Z]{0,3}\d+ DELETE \S", "deletes mail"),  # RFC 9051
        (r"^(?:DELE|RMD|RNTO|STOR|XRMD) \S", "changes files over FTP"),  # RFC 959
        (r"\bstate: ?['\"]?(?:absent|stopped|restarted|reloaded|killed|rebooted)\b|\b(?:ansible\.builtin\.)?(?:reboot|shutdown|file|user):? .*\bstate=absent\b", "removes or stops by a playbook"),
        (r"^[ \t]*(?:- )?(?:delete|remove_file|reboot|wipe_disk):", "removes or stops by a playbook"),
        (r"^(?:M302 [PS]|M50[02]\b|M997\b|M112\b|M104 S(?:2[7-9]|[3-9])\d|M109 S(?:2[7-9]|[3-9])\d|M140 S1[2-9]\d|M30 \S)", "drives a printer beyond its limits, or resets it"),
        (r"\b(?:SYST(?:em)?:(?:PRES|SHUT|REB)|OUTP(?:ut)?\d? ON|AT\+CFUN=1,1|AT&F|ATD\d)", "drives a device"),
    )
)  # fmt: skip
_DEVICES: Final = frozenset(
    "cisco nxos junos juniper arista eos mikrotik routeros fortinet fortigate panos paloalto netmiko napalm router asa vyos edgeos "
    "huawei vrp unifi opnsense pfsense snmp procurve aruba ruckus omada".split()
)
_CONFIGURATION: Final = re.compile(
    r"^[ \t]*(?:no |undo |shut(?:down)?\b|reload\b|reboot\b|erase\b|write erase|delete\b|clear (?!counters)|format\b|default |reset\b|request system|set (?!cli)|commit\b"
    r"|configure replace|copy \S+ (?:running|startup)|boot system|crypto key zeroize|debug all|execute (?:factory|reboot|shutdown|format)|config factory|debug all"
    r"|switchport |ip route |ip address |access-list|permit |deny |spanning-tree |vlan \d+|router |neighbor |enable secret|username \S+ (?:password|privilege|secret)"
    r"|/[\w/ -]{0,80}?\b(?:remove|disable|reset(?:-configuration)?|add|set|reboot|shutdown)\b|unset )",
    re.IGNORECASE | re.MULTILINE,
)
_IN_FORMAT: Final = frozenset(
    "ics ical ldif payload xml envelope gcode config lines commands playbook rpc netconf raw message tasks".split()
)
_MAX_CHARS: Final = 20_000


def is_of_a_network(call: Call) -> bool:
    """A router or a switch, whose lines no shell reads."""
    return not _DEVICES.isdisjoint(call.words)


def by_formats(call: Call) -> str | None:
    is_device = is_of_a_network(call)
    for key, text in call.texts:
        if key in keys.TEXTS and key not in _IN_FORMAT:
            continue
        head = text[:_MAX_CHARS]
        if is_device and key not in keys.NO_COMMANDS and _CONFIGURATION.search(head):
            return "changes how a device of the network works"
        if reason := _SIGNS.first(head):
            return reason
    return None
