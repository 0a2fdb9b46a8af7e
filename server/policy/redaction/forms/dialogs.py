"""Where people and programs log in: prompts, protocols, files of clients."""

from typing import Final

from server.policy.redaction.chosen import is_chosen, is_no_identifier
from server.policy.redaction.forms.checks import Form, always, is_odd, is_password, is_striking_password, is_value
from server.policy.redaction.plausible import is_placeholder
from server.policy.redaction.rules.password_looks import looks_chosen
from server.policy.redaction.rules.values import is_mixed

DIALOGS: Final[tuple[Form, ...]] = (
    ("auth_user_pass", "<auth-user-pass>", r"<auth-user-pass>\r?\n[^\r\n]{1,128}\r?\n(?P<s>[^\r\n<]{4,128})", always),
    ("redis_auth", "AUTH\\r\\n", r"AUTH(?:\\r\\n\$\d+\\r\\n[^\\\s]{1,64})??\\r\\n\$\d+\\r\\n(?P<s>[^\\\r\n]{4,128})\\r\\n(?!\$)", always),
    ("login", "stats auth ", r"stats auth [\w.-]{1,64}:(?P<s>\S{4,128})", is_value),
    ("login", "_AUTH=", r"_AUTH=[\"']?[\w.-]{1,64}/(?P<s>[^\s\"'/]{4,128})(?=[\s\"']|\Z)", is_password),
    ("login", "user = \"", r"user = \"[^:\"\s]{1,64}:(?P<s>[^\"\n]{4,128})\"", is_value),
    ("login", "--user", r"--user[ =][\"']?[\w.@-]{1,64}:(?P<s>[^\s\"'/]{4,128})", lambda v: not v.isdigit() and is_value(v)),
    ("login", " -u ", r" -u [\w.@\\-]{1,64} (?:[^\s-]\S{0,40} |-\w \S{1,40} ){0,3}?-p ?[\"']?(?P<s>(?<=[\"'])[^\"'\n]{4,128}(?=[\"'])|[^\s\"'|;&-][^\s\"'|;&]{3,127})", lambda v: any(map(str.isalpha, v)) and is_chosen(v, is_quoted=True)),
    ("login", "open -u ", r"open -u [^\s,]{1,64},(?P<s>\S{4,128})", is_value),
    ("login", "add password", r"add password\s+\S{1,64}\s+\{?(?P<s>(?<=\{)[^{}\n]{4,64}|[^\s{}]{4,64})", is_value),
    ("login", "add password", r"add password\s+\S{1,64}\s+(?:\{[^{}\n]{1,64}\}|[^\s{}]{1,64})[ \t]+\{?(?P<s>(?<=\{)[^{}\n]{4,64}|[^\s{}]{4,64})", is_value),
    ("mistyped_password", "sh: ", r"sh: (?P<s>[^\s:]{6,64}): (?:command )?not found", lambda v: looks_chosen(v) == 3 and any(sign in "!#$%&*" for sign in v)),
    ("mistyped_password", "nvalid user ", r"nvalid user (?P<s>[^\s]{6,64}) (?:from |\d)", lambda v: any(sign in "!#$%&*+?=" for sign in v)),
    ("login", "New value: ", r"New value: (?P<s>[^\s\"\\]{12,128})", lambda v: is_mixed(v, 12)),
    ("login", "IDENTIFIED BY", r"IDENTIFIED BY \S{1,128} REPLACE [\"']?(?P<s>[^\s;\"']{4,128})", is_value),
    ("login", "AUTHENTICATE ", r"AUTHENTICATE (?P<s>[A-Za-z0-9+/]{20,400}={0,2})(?=\s|\Z)", always),
    # a login after the word for one
    *(("login", word, rf"{word}\w{{0,8}}[\"']? ?[:=] ?[\"'`]?[\w.@+-]{{2,64}}(?: ?[/|:] ?| (?:and|und|y|et|e) )(?P<s>[^\s\"'`,*/]{{5,64}})(?=[\"'`,.\s]|\Z)", is_odd) for word in ("reds", "redentials", "ugangsdaten", "ogin", "ogindaten", "dentifiants", "redenciales", "redenziali", "nmeldung")),
    ("login", ": EAP \"", r": EAP \"(?P<s>[^\"\n]{4,128})\"", is_value),
    # whoever logs in, and with what
    *(("login", f"{word} as ", rf"(?i:{word}) as [\"'`]?[\w.@\\-]{{1,64}}[\"'`]? (?:with|using|mit)(?: (?:the )?(?:pass\w*|pw))?:? ?(?P<q>[\"'`]?)(?P<s>[^\s\"'`]{{5,64}})(?P=q)(?=[\s,.;)]|\Z)", is_striking_password) for word in ("connecting", "connected", "authenticating", "authenticated", "logging in", "logged in", "login", "log in")),
    *(("login", f"{word} ", rf"(?i:{word}) (?:login )?(?i:root|admin|administrator|user)[ :/]{{1,3}}(?P<s>\S{{6,64}})(?=\s|\Z)", is_striking_password) for word in ("idrac", "ipmi", "ilo", "bmc", "ipmi:", "bmc:", "idrac:", "ilo:", "pdu:", "nvr:")),
    ("login", "basic auth", r"(?i:basic auth):? [\w.-]{1,64}:(?P<s>[^\s\"']{6,128})", is_striking_password),
    ("login", "u/p", r"u/p[:= ]{1,3}[\w.@-]{1,64}?[/:](?P<s>[^\s\"'/]{5,64})", is_striking_password),
    ("pin", "pin-value=", r"pin-value=(?P<s>[^\s&;\"'<>]{4,64})", is_value),  # RFC 7512
    ("login", "PASSWORD elastic = ", r"PASSWORD elastic = (?P<s>\S{8,64})", is_value),
    ("login", "CWJAP", r"CWJAP\w{0,8}=\"[^\"\n]{1,64}\",\"(?P<s>[^\"\n]{8,64})\"", is_value),
    ("login", "\nPASS ", r"(?<=\w)\r?\nPASS (?P<s>\S{4,128})", is_value),
    ("login", ": PSK \"", r": PSK \"(?P<s>[^\"\n]{4,128})\"", is_value),
    ("login", "\" * \"", r"\" \* \"(?P<s>[^\"\n]{4,128})\"", is_value),  # chap-secrets
    *(("login", f"{word}={{", rf"{word}=\{{(?P<s>(?:[^{{}}\n]|\}}\}}){{4,128}})\}}(?=[;\"']|\Z)", is_no_identifier) for word in ("pwd", "password")),
    ("login", "password-command", r"password-command[= ][\"']?echo [\"']?(?P<s>[^\"'\n]{4,64})", is_value),
    ("login", ": XAUTH \"", r": XAUTH \"(?P<s>[^\"\n]{4,128})\"", is_value),
    ("login", "\"AUTH\" \"", r"\"AUTH\" (?:\"[^\"\n]{1,64}\" )?\"(?P<s>[^\"\n]{4,256})\"", always),
    # programs that ask, protocols that answer
    ("login", "assword", r"assword[^\w\n]{0,12}\s*send(?:line)?[\s(]{1,2}(?:--\s)?\\?[\"'{](?P<s>[^\"'\\{}\n]{4,128})", is_value),
    ("login", "LOGIN ", r"LOGIN [\"']?[\w.@+-]{1,64}[\"']? [\"']?(?P<s>(?<=\")[^\"\n]{4,128}(?=\")|[^\s\"']{4,128})[\"']?(?=\s*(?:\n|\\r|\Z))", lambda v: not v.isalpha() and not is_placeholder(v)),
    ("login", "UGFzc3dvcmQ6", r"UGFzc3dvcmQ6(?:\s|\\[rn])+(?:[^\n]{0,60}?(?:SMTP>>|C:|>>?|<-|->) ?)?(?P<s>[A-Za-z0-9+/]{4,256}={0,2})(?=\s|\\|\Z)", lambda v: v not in ("QUIT", "RSET") and not v.isdigit()),
    ("login", "AUTH PLAIN ", r"AUTH PLAIN (?P<s>[A-Za-z0-9+/]{8,512}={0,2})", always),
    ("login", "AUTH XOAUTH2 ", r"AUTH XOAUTH2 (?P<s>[A-Za-z0-9+/]{8,4096}={0,2})", always),
)  # fmt: skip
