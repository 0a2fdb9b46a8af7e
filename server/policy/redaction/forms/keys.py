"""Keys and tokens that are known by what stands beside them."""

from typing import Final

from server.policy.redaction.forms.checks import Form, always, is_value
from server.policy.redaction.plausible import is_random

KEYS: Final[tuple[Form, ...]] = (
    ("ntfy_token", "tk_", r"(?<![A-Za-z0-9_])tk_[a-z0-9]{29}(?![a-z0-9])", always),
    # core.telegram.org/bots/api: id, colon, 35 characters
    ("telegram_token", ":AA", r":AA[\w-]{30,}", always),
    ("gem_credential", "BUNDLE_", r"BUNDLE_[A-Z0-9_]{3,80}[=:] ?[\"']?\w{1,64}:(?P<s>[^\s\"'/@]{6,128})", is_value),
    ("fly_token", "fm2_", r"fm2_[\w+/=-]{20,}", always),
    ("fly_token", "fm1", r"fm1\w?_[\w+/=-]{20,}", always),
    ("gitea_token", "\"sha1\":", r"\"sha1\": ?\"(?P<s>[a-f0-9]{40})\", ?\"token_last_eight", always),
    ("signing_secret", "secure_link_md5", r"secure_link_md5 \"[^\"\n]{0,160}? (?P<s>[^\s\"$]{4,128})\"", is_value),
    ("dns_token", "dns ", r"(?<=\s)dns \w{3,24} (?P<s>[\w-]{24,128})(?=\s|\Z)", is_random),
    ("secret_value", "\"secret\"", r"\"secret\",?\s{0,40}\"value\" ?: ?\"(?P<s>[^\"\n]{6,512})\"", is_value),
    # postgresql.org, .pgpass
    ("pgpass", ":5432:", r":5432:[^:\s]{1,64}:[^:\s]{1,64}:(?P<s>[^\s:]{4,128})(?=\s|\Z)", is_value),
    ("pgpass", ":*:", r"(?::\*)+:[^:\s*]{1,64}:(?P<s>[^\s:*]{4,128})(?=\s|\Z)", is_value),
    # learn.microsoft.com: Entra client secrets hold `Q~` after a version digit
    ("azure_client_secret", "Q~", r"Q~[\w.~-]{31,40}", always),
    # developers.google.com: refresh tokens
    ("refresh_token", "1//0", r"(?<![\w/])1//0[\w-]{20,}", always),
    ("mailchimp_key", "-us", r"-us\d{1,2}(?![\w])", always),
    ("mws_token", "amzn.mws.", r"amzn\.mws\.[a-f0-9-]{30,}", always),
    # the last lines of a PuTTY key file
    ("private_key", "Private-Lines:", r"Private-Lines: ?\d+(?:\r?\n|\\n)+(?P<s>[A-Za-z0-9+/=\s\\]{16,8192}?)(?=(?:\r?\n|\\n)Private-|\Z)", always),
    ("private_key", "PrivateKey = ", r"PrivateKey = (?P<s>[A-Za-z0-9+/]{43}=)", always),
    ("private_key", "PresharedKey = ", r"PresharedKey = (?P<s>[A-Za-z0-9+/]{43}=)", always),
    ("ssh_key", "b3BlbnNzaC1rZXktdjEA", r"b3BlbnNzaC1rZXktdjEA[A-Za-z0-9+/=\s\\]{40,16384}", always),
    ("private_key", "LS0tLS1CRUdJTiB", r"LS0tLS1CRUdJTi(?:B[A-Za-z0-9+/]{0,20}?(?:UFJJVkFURS|QUklWQVRF|BSSVZBVE)[A-Za-z0-9+/]{20,}={0,2})", always),
    # XML Signature, RSAKeyValue as .NET writes it: from the first prime to the private exponent
    ("private_key", "<P>", r"<P>(?P<s>[A-Za-z0-9+/=\s]{40,1024}</P>[\w+/=\s<>]{80,6000}?)</D>", always),
    ("k3s_token", "K10", r"K10[a-f0-9]{64}::[\w:]{20,160}", always),
    ("sonar_token", "sonar.login=", r"sonar\.login=(?P<s>[a-f0-9]{40}|[a-f0-9]{32}|\w{16,64})", always),
    ("twilio_key", "AC", r"\bAC[a-f0-9]{32}:(?P<s>[a-f0-9]{32})", always),
    ("plist_password", "key>", r"key>(?:[^<\n]{0,40}(?i:password|secret|token|passwd))</key>\s*<string>(?P<s>[^<\n]{4,256})</string>", is_value),
    ("wifi_password", "WIFI:", r"WIFI:[^\n]{0,200}?\bP:(?P<s>(?:[^;\\\n]|\\.){4,64});", is_value),
    ("twitch_token", "oauth:", r"oauth:(?P<s>[a-z0-9]{30})(?![a-z0-9])", always),
    ("tsig_key", "hmac-", r"hmac-\w{3,6}:[\w.-]{1,64}:(?P<s>[A-Za-z0-9+/]{16,256}={0,2})", always),
    ("configcat_key", "configcat-sdk-1/", r"configcat-sdk-1/[\w-]{22}/[\w-]{22}", always),
    ("maxmind_key", "_mmk", r"_mmk(?!\w)", always),
    ("deepl_key", ":fx", r":fx(?!\w)", always),
    ("azure_devops_token", "AZDO", r"AZDO[A-Za-z0-9]{4,5}(?!\w)", always),
)  # fmt: skip
