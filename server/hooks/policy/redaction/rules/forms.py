"""Credentials with a form of their own: tokens in three parts, URLs, headers, hashes of passwords.

Each rule has a word without which it cannot fit; it is searched for first.
All repetitions are bounded or possessive: no text takes more than linear time.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final

from server.hooks.policy.redaction.page import Page, matches
from server.hooks.policy.redaction.plausible import has_digit, is_jumbled, is_placeholder, is_plausible, is_random
from server.hooks.policy.redaction.rules.values import is_mixed
from server.hooks.policy.redaction.spans import Span

Check = Callable[[str], bool]


def _always(_value: str) -> bool:
    return True


def _is_value(value: str) -> bool:
    return not is_placeholder(value)


def _is_credential(value: str) -> bool:
    """What follows Bearer and its like."""
    return is_random(value, at_least=12) or (len(value) >= 16 and has_digit(value) and not is_placeholder(value))


def _is_chosen(value: str) -> bool:
    return is_plausible(value, is_quoted=True) and has_digit(value)


def _is_odd(value: str) -> bool:
    """No word and no name: with a digit or a sign, or jumbled."""
    return not value.startswith(("utf8", "latin1")) and (is_mixed(value, 5) or is_jumbled(value))


def _is_url_password(value: str) -> bool:
    return not is_placeholder(value) and value.lower() not in _EXAMPLES


_EXAMPLES: Final = frozenset("password pass passwd pwd secret user username token x pw changeme example".split())

_Q: Final = r"[\"'`]"
_LOGIN_LINK: Final = r"/(?:reset|password-?reset|reset-password|verify|confirm|invite|invitation|magic|magic-link|activate|unlock)[-/](?:[a-z]{1,16}/)?(?P<s>[\w-]{16,256})(?=[\s\"'<>)?#]|\Z)"
_LAST_PART: Final = r"(?P<s>[\w-]{16,128})(?=[\s\"'<>)?]|\Z)"
_KEYED: Final = rf"\(\s*[bru]?{_Q}(?P<s>[^\"'`\s]{{16,256}}){_Q}"

# (kind, the word it cannot do without, what has to fit where the word begins or `before` characters earlier, check)
_RULES: Final = tuple(
    (kind, anchor, re.compile(shape), check)
    for kind, anchor, shape, check in (
        # RFC 3986, 3.2.1: user information; the password may hold what it should have escaped
        ("url_password", "://", r"://[^\s/@:\"'<>|]{0,128}:(?P<s>[^\s/\"'<>]{1,256})@(?=[\w.\-\[{%/]|[\"'\s]|\Z)", _is_url_password),
        ("url_token", "://", r"://(?P<s>[^\s/@:\"'<>|]{20,256})(?::x-oauth-basic|:)?@", is_random),
        ("url_password", "@tcp(", r"@tcp\(", _always),
        # webhooks: the last part is the credential
        ("slack_webhook", "hooks.slack.com/", r"hooks\.slack\.com/(?:services|workflows|triggers)/[\w/]{6,60}/(?P<s>\w{16,})", _always),
        ("discord_webhook", "/api/webhooks/", r"/api/webhooks/\d{15,}/(?P<s>[\w-]{40,})", _always),
        ("teams_webhook", ".office.com/", r"\.office\.com/webhook\S{0,100}?/IncomingWebhook/(?P<s>[\w/-]{30,})", _always),
        ("zapier_webhook", "hooks.zapier.com/", r"hooks\.zapier\.com/hooks/catch/\d+/(?P<s>\w{5,})", _always),
        ("make_webhook", ".make.com/", r"\.make\.com/(?P<s>[a-z0-9]{20,})", _always),
        ("google_chat_webhook", "chat.googleapis.com/", r"chat\.googleapis\.com/\S{10,80}?[?&]key=(?P<s>[\w-]{20,})", _always),
        ("ifttt_key", "maker.ifttt.com/", r"maker\.ifttt\.com/\S{5,80}/key/(?P<s>[\w-]{15,})", _always),
        ("ntfy_token", "tk_", r"(?<![A-Za-z0-9_])tk_[a-z0-9]{29}(?![a-z0-9])", _always),
        # core.telegram.org/bots/api: id, colon, 35 characters
        ("telegram_token", ":AA", r":AA[\w-]{30,}", _always),
        ("webhook", "hooks.", rf"hooks\.[\w.-]{{3,64}}/(?:[\w.-]{{1,40}}/){{0,6}}{_LAST_PART}", is_random),
        ("webhook", "/webhook", rf"/webhooks?/(?:[\w.-]{{1,40}}/){{0,5}}{_LAST_PART}", is_random),
        # RFC 7617, 6750 and what services put in their place
        ("authorization", "uthorization", rf"uthorization{_Q}?\]?\s*[:=,]\s*{_Q}?\s*(?:[A-Za-z][\w-]{{1,20}} +)?(?P<s>[\w+/=.~:\-]{{8,2048}})", _is_credential),
        ("bearer", "earer", rf"earer[ _]{{1,3}}(?:{_Q} ?[+.] ?{_Q})?(?P<s>[\w+/=.~\-]{{12,4096}})", _is_credential),
        ("basic_auth", "asic ", r"asic +(?P<s>[A-Za-z0-9+/]{10,2048}={0,2})(?![\w.-])", lambda v: is_random(v, at_least=10) or v.endswith("=")),
        ("bearer", "earer_auth(", rf"earer_auth\(\s*{_Q}(?P<s>[^\"'`\s]{{8,512}}){_Q}", _is_value),
        ("basic_auth", "asicAuth(", rf"asicAuth\(\s*{_Q}[^\"'`]{{1,128}}{_Q}\s*,\s*{_Q}(?P<s>[^\"'`]{{4,256}}){_Q}", _is_value),
        ("basic_auth", "asic_auth(", rf"asic_auth\(\s*{_Q}[^\"'`]{{1,128}}{_Q}\s*,\s*(?:Some\()?{_Q}(?P<s>[^\"'`]{{4,256}}){_Q}", _is_value),
        ("basic_auth", "auth=(", rf"auth=\(\s*{_Q}[^\"'`]{{1,128}}{_Q}\s*,\s*{_Q}(?P<s>[^\"'`]{{4,256}}){_Q}", _is_value),
        ("login", "login(", rf"login\(\s*{_Q}[^\"'`]{{1,128}}{_Q}\s*,\s*{_Q}(?P<s>[^\"'`]{{4,256}}){_Q}", _is_chosen),
        ("login", "auth(", rf"auth\(\s*{_Q}[^\"'`]{{1,128}}{_Q}\s*,\s*{_Q}(?P<s>[^\"'`]{{4,256}}){_Q}", _is_chosen),
        ("login", "redentials(", rf"redentials\(\s*{_Q}[^\"'`]{{1,128}}{_Q}\s*,\s*{_Q}(?P<s>[^\"'`]{{4,256}}){_Q}", _is_chosen),
        # postgresql.org, .pgpass
        ("pgpass", ":5432:", r":5432:[^:\s]{1,64}:[^:\s]{1,64}:(?P<s>[^\s:]{4,128})(?=\s|\Z)", _is_value),
        ("pgpass", ":*:", r"(?::\*)+:[^:\s*]{1,64}:(?P<s>[^\s:*]{4,128})(?=\s|\Z)", _is_value),
        ("secure_string", "ConvertTo-SecureString", rf"ConvertTo-SecureString\s+(?:-String\s+|-AsPlainText\s+|-Force\s+)*{_Q}?(?P<s>[^\"'`\s]{{4,256}})", _is_value),
        ("credential", "NetworkCredential(", rf"NetworkCredential\(\s*{_Q}[^\"'`]{{1,128}}{_Q}\s*,\s*{_Q}(?P<s>[^\"'`]{{4,256}}){_Q}", _is_value),
        # learn.microsoft.com: Entra client secrets hold `Q~` after a version digit
        ("azure_client_secret", "Q~", r"Q~[\w.~-]{31,40}", _always),
        ("azure_sas", "sig=", r"(?<=[?&;])sig=(?P<s>[\w%+/=-]{20,})", _always),
        # developers.google.com: refresh tokens
        ("refresh_token", "1//0", r"(?<![\w/])1//0[\w-]{20,}", _always),
        ("mailchimp_key", "-us", r"-us\d{1,2}(?![\w])", _always),
        ("mws_token", "amzn.mws.", r"amzn\.mws\.[a-f0-9-]{30,}", _always),
        ("aws_presigned", "X-Amz-", r"X-Amz-(?:Signature|Security-Token)=(?P<s>[\w%+/=-]{20,})", _always),
        # crypt(5), PHC strings, Django, LDAP
        ("password_hash", "$", r"\$(?:2[abxy]?|apr1|argon2(?:id|i|d)|[156y]|gy|sha1|md5|scrypt|7|s0|s2|pbkdf2(?:-sha\d+)?|bcrypt-sha256|P|H|S|8|9|14)\$[^\s:\"';|<>]{16,400}", _always),
        ("password_hash", "pbkdf2_sha", r"pbkdf2_sha\d+\$\d+\$[\w+/=.$-]{16,300}", _always),
        ("password_hash", "SHA}", r"SHA\d{0,3}}[A-Za-z0-9+/]{16,200}={0,2}", _always),
        ("password_hash", "SCRAM-SHA-", r"SCRAM-SHA-\d+\$[\w+/=:$]{30,400}", _always),
        ("password_hash", "$krb5", r"\$krb5\w{2,8}\$[^\s\"']{24,4000}", _always),
        ("password_hash", "md5", r"(?<![A-Za-z0-9])md5[a-f0-9]{32}(?![A-Za-z0-9])", _always),
        ("ntlm_hash", ":::", r":::", _always),
        # the last lines of a PuTTY key file
        ("private_key", "Private-Lines:", r"Private-Lines: ?\d+(?:\r?\n|\\n)+(?P<s>[A-Za-z0-9+/=\s\\]{16,8192}?)(?=(?:\r?\n|\\n)Private-|\Z)", _always),
        ("private_key", "PrivateKey = ", r"PrivateKey = (?P<s>[A-Za-z0-9+/]{43}=)", _always),
        ("private_key", "PresharedKey = ", r"PresharedKey = (?P<s>[A-Za-z0-9+/]{43}=)", _always),
        ("ssh_key", "b3BlbnNzaC1rZXktdjEA", r"b3BlbnNzaC1rZXktdjEA[A-Za-z0-9+/=\s\\]{40,16384}", _always),
        ("private_key", "LS0tLS1CRUdJTiB", r"LS0tLS1CRUdJTi(?:B[A-Za-z0-9+/]{0,20}?(?:UFJJVkFURS|QUklWQVRF|BSSVZBVE)[A-Za-z0-9+/]{20,}={0,2})", _always),
        # XML Signature, RSAKeyValue as .NET writes it: from the first prime to the private exponent
        ("private_key", "<P>", r"<P>(?P<s>[A-Za-z0-9+/=\s]{40,1024}</P>[\w+/=\s<>]{80,6000}?)</D>", _always),
        # what a program is built or signed with
        ("key_argument", "Client(", rf"Client{_KEYED}", is_random),
        ("key_argument", "Fernet(", rf"Fernet{_KEYED}", is_random),
        ("key_argument", "hmac.new(", rf"hmac\.new{_KEYED}", is_random),
        ("key_argument", "AES.new(", rf"AES\.new{_KEYED}", is_random),
        ("key_argument", "Signer(", rf"Signer{_KEYED}", is_random),
        ("key_argument", "Serializer(", rf"Serializer{_KEYED}", is_random),
        ("key_argument", "Bot(", rf"Bot{_KEYED}", is_random),
        # positional arguments that are passwords
        *(("login", f"{call}(", rf"{call}\((?:[^,()\n]{{1,120}}, ?){{2}}{_Q}(?P<s>[^\"'`\s]{{4,256}}){_Q}", _is_odd) for call in ("getConnection", "onnect", "mysqli", "mysqli_connect", "PDO", "oci_connect")),
        *(("login", f"{call}(", rf"{call}\(\s*{_Q}[^\"'`\n]{{1,128}}{_Q}\s*,\s*{_Q}(?P<s>[^\"'`\n]{{6,256}}){_Q}", _is_odd) for call in ("redentials.basic", "WiFi.begin", "iFi.begin", "createCipher", "createCipheriv", "createDecipheriv", "setCredentials")),
        ("key_argument", "cookieParser(", rf"cookieParser\(\s*{_Q}(?P<s>[^\"'`\n]{{6,256}}){_Q}", _is_value),
        ("key_argument", "signWith(", rf"signWith\((?:[^,()\n]{{1,80}}, ?)?{_Q}(?P<s>[^\"'`\s]{{8,256}}){_Q}", _is_value),
        ("login", ".equals(", rf"(?i:(?<=pwd)|(?<=pass)|(?<=password)|(?<=passwd)|(?<=secret)|(?<=token))\.equals\({_Q}(?P<s>[^\"'`\n]{{4,128}}){_Q}", _is_odd),
        # a login after the word for one
        *(("login", word, rf"{word}\w{{0,8}}[\"']? ?[:=] ?[\"'`]?[\w.@+-]{{2,64}}(?: ?[/|:] ?| (?:and|und|y|et|e) )(?P<s>[^\s\"'`,*/]{{5,64}})(?=[\"'`,.\s]|\Z)", _is_odd) for word in ("reds", "redentials", "ugangsdaten", "ogin", "ogindaten", "dentifiants", "redenciales", "redenziali", "nmeldung")),
        ("login", ": EAP \"", r": EAP \"(?P<s>[^\"\n]{4,128})\"", _is_value),
        ("login", ": XAUTH \"", r": XAUTH \"(?P<s>[^\"\n]{4,128})\"", _is_value),
        ("login", "\"AUTH\" \"", r"\"AUTH\" (?:\"[^\"\n]{1,64}\" )?\"(?P<s>[^\"\n]{4,256})\"", _always),
        ("k3s_token", "K10", r"K10[a-f0-9]{64}::(?P<s>[\w:]{20,160})", _always),
        ("saml_response", "SAMLResponse=", r"SAMLResponse=(?P<s>[\w%+/=-]{40,65536})", _always),
        # generated parts of invitations
        ("invitation", "chat.whatsapp.com/", r"chat\.whatsapp\.com/(?P<s>[A-Za-z0-9]{20,24})", _always),
        ("invitation", "shared_invite/", r"shared_invite/(?P<s>[\w~-]{16,128})", _always),
        ("sonar_token", "sonar.login=", r"sonar\.login=(?P<s>[a-f0-9]{40}|[a-f0-9]{32}|\w{16,64})", _always),
        ("twilio_key", "AC", r"\bAC[a-f0-9]{32}:(?P<s>[a-f0-9]{32})", _always),
        ("plist_password", "key>", r"key>(?:[^<\n]{0,40}(?i:password|secret|token|passwd))</key>\s*<string>(?P<s>[^<\n]{4,256})</string>", _is_value),
        ("key_argument", "createHmac(", rf"createHmac\(\s*{_Q}[\w-]+{_Q}\s*,\s*{_Q}(?P<s>[^\"'`\s]{{6,256}}){_Q}", _is_value),
        ("key_argument", "jwt.", rf"jwt\.(?:sign|encode|decode|verify)\([^\n\"'`]{{1,80}}?,\s*{_Q}(?P<s>[^\"'`\s]{{6,256}}){_Q}", _is_value),
        # programs that ask, protocols that answer
        ("login", "assword", r"assword[^\w\n]{0,12}\s*send(?:line)?[\s(]{1,2}(?:--\s)?\\?[\"'{](?P<s>[^\"'\\{}\n]{4,128})", _is_value),
        ("login", "LOGIN ", r"LOGIN [\"']?[\w.@+-]{1,64}[\"']? [\"']?(?P<s>[^\s\"']{4,128})[\"']?(?=\s*(?:\n|\\r|\Z))", lambda v: not v.isalpha() and not is_placeholder(v)),
        ("login", "UGFzc3dvcmQ6", r"UGFzc3dvcmQ6(?:\s|\\[rn])+(?:C: ?|> ?|<- ?|-> ?)?(?P<s>[A-Za-z0-9+/]{4,256}={0,2})", _always),
        ("login", "AUTH PLAIN ", r"AUTH PLAIN (?P<s>[A-Za-z0-9+/]{8,512}={0,2})", _always),
        ("login", "AUTH XOAUTH2 ", r"AUTH XOAUTH2 (?P<s>[A-Za-z0-9+/]{8,4096}={0,2})", _always),
        ("wifi_password", "WIFI:", r"WIFI:[^\n]{0,200}?\bP:(?P<s>(?:[^;\\\n]|\\.){4,64});", _is_value),
        ("twitch_token", "oauth:", r"oauth:(?P<s>[a-z0-9]{30})(?![a-z0-9])", _always),
        ("openweathermap_key", "appid=", r"appid=(?P<s>[a-f0-9]{32})(?![\w])", _always),
        ("device_key", "-server key ", r"-server key (?:\d )?(?P<s>\S{4,64})", _is_value),
        ("device_key", "isakmp key ", r"isakmp key (?:\d )?(?P<s>\S{4,64})", _is_value),
        ("device_key", "key-string ", r"key-string (?:\d )?(?P<s>\S{4,64})", _is_value),
        ("device_key", "authentication-key ", r"authentication-key \d+ md5 (?:\d )?(?P<s>\S{4,64})", _is_value),
        ("tsig_key", "hmac-", r"hmac-\w{3,6}:[\w.-]{1,64}:(?P<s>[A-Za-z0-9+/]{16,256}={0,2})", _always),
        # links that log in whoever has them
        *(("login_link", f"/{word}", _LOGIN_LINK, is_random) for word in ("reset", "password", "verify", "confirm", "invit", "magic", "activate", "unlock")),
        ("snmp_community", "snmp-server community", r"snmp-server community (?P<s>\S{4,64})", lambda v: v not in ("public", "private")),
        ("snmp_community", "snmp", r"snmp(?:walk|get|set|bulkwalk)\b[^\n]{0,80}? -c (?P<s>\S{4,64})", lambda v: v not in ("public", "private")),
    )
)  # fmt: skip

_BEHIND: Final[dict[str, re.Pattern[str]]] = {
    # what the secret is when it stands before the anchor; looked for in the 200 characters before it
    "telegram_token": re.compile(r"(?<!\d)\d{8,11}\Z"),
    "azure_client_secret": re.compile(r"[\w.~-]{3}\d\Z"),
    "mailchimp_key": re.compile(r"(?<![a-f0-9])[a-f0-9]{32}\Z"),
    "ntlm_hash": re.compile(r"(?<=:)[a-fA-F0-9]{32}:[a-fA-F0-9]{32}\Z"),
    "url_password": re.compile(r"[\w.-]{1,64}:(?P<s>[^\s/\"'<>]{1,128})\Z"),
}


_Rule = tuple[str, str, re.Pattern[str], Check]
_BY_ANCHOR: Final[dict[str, list[_Rule]]] = {}
for _rule in _RULES:
    _BY_ANCHOR.setdefault(_rule[1], []).append(_rule)
ANCHORS: Final = tuple(_BY_ANCHOR)


def form_spans(page: Page) -> Iterator[Span]:
    for anchor in page.held & _BY_ANCHOR.keys():
        for rule in _BY_ANCHOR[anchor]:
            yield from _fits(page, rule)


def _fits(page: Page, rule: _Rule) -> Iterator[Span]:
    kind, anchor, shape, check = rule
    group = "s" if "s" in shape.groupindex else 0
    for match in matches(page, anchor, shape):
        if kind in _BEHIND and anchor != "://":
            yield from _with_what_stands_before(page.text, kind, match)
        elif check(match[group]):
            yield Span(match.start(group), match.end(group), kind)


def _with_what_stands_before(text: str, kind: str, match: re.Match[str]) -> Iterator[Span]:
    at = match.start()
    offset = max(0, at - 160)
    behind = _BEHIND[kind].search(text, offset, at)
    if behind is None:
        return
    start = behind.start("s") if "s" in behind.re.groupindex else behind.start()
    yield Span(start, at if match.end() - at <= 5 else match.end(), kind)
