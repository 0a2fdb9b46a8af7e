"""Lines in the configuration of routers, switches and monitors."""

from typing import Final

from server.policy.redaction.forms.checks import Form, always, is_password, is_value
from server.policy.redaction.plausible import is_placeholder

DEVICES: Final[tuple[Form, ...]] = (
    ("nagios_macro", "$USER", r"\$USER\d{1,3}\$ ?= ?(?P<s>[^\s/]{4,128})", is_password),
    # devices and programs with words of their own
    ("device_key", "key 7 ", r"key 7 (?P<s>[0-9A-F]{8,64})(?![\w])", always),
    ("ntp_key", "HEX:", r"HEX:(?P<s>[0-9A-Fa-f]{16,128})", always),
    ("ntp_key", "ASCII:", r"ASCII:(?P<s>\S{4,64})", is_value),
    ("device_key", "-server key ", r"-server key (?:\d )?(?P<s>\S{4,64})", is_value),
    ("device_key", "isakmp key ", r"isakmp key (?:\d )?(?P<s>\S{4,64})", is_value),
    ("device_key", "key-string ", r"key-string (?:\d )?(?P<s>\S{4,64})", is_value),
    ("device_key", "authentication-key ", r"authentication-key \d+ md5 (?:\d )?(?P<s>\S{4,64})", is_value),
    ("device_key", "-server host ", r"-server host \S{1,64} (?:\S{1,24} ){0,6}?key (?:\d )?(?P<s>\S{4,64})", is_value),
    *(("device_key", f" {word} ", rf" {word}(?: \d{{3}})? (?P<s>\S{{6,64}})", lambda v: is_value(v) and not v.isalpha()) for word in ("auth sha", "auth md5", "priv aes", "priv des", "priv 3des")),
    ("snmp_community", "ommunity \"", r"ommunity \"(?P<s>[^\"\n]{4,64})\"", lambda v: v not in ("public", "private") and is_password(v)),
    ("snmp_community", "snmp-server community", r"snmp-server community (?P<s>\S{4,64})", lambda v: v not in ("public", "private") and not is_placeholder(v)),
    ("snmp_community", "snmp", r"snmp(?:walk|get|set|bulkwalk)\b[^\n]{0,80}? -c (?P<s>\S{4,64})", lambda v: v not in ("public", "private")),
)  # fmt: skip
