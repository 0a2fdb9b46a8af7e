"""Addresses that open something to whoever has them: logins in URLs, webhooks, signed links, invitations."""

from typing import Final

from server.policy.redaction.forms.checks import Form, always, is_url_password
from server.policy.redaction.plausible import is_random

_LOGIN_LINK: Final = r"/(?:reset|password-?reset|reset-password|verify|confirm|invite|invitation|magic|magic-link|activate|unlock)[-/](?:[\w-]{1,40}/)?(?P<s>[\w-]{16,256})(?=[\s\"'<>)?#]|\Z)"
_LAST_PART: Final = r"(?P<s>[\w-]{16,128})(?=[\s\"'<>)?]|\Z)"
LINKS: Final[tuple[Form, ...]] = (
    # RFC 3986, 3.2.1: user information; the password may hold what it should have escaped
    ("url_password", "://", r"://[^\s/@:\"'<>|]{0,128}:(?P<s>[^\s/\"'<>]{1,256})@(?=[\w.\-\[{%/]|[\"'\s]|\Z)", is_url_password),
    ("url_token", "://", r"://(?P<s>[^\s/@:\"'<>|]{20,256})(?::x-oauth-basic|:)?@", is_random),
    ("url_password", "@tcp(", r"@tcp\(", always),
    # webhooks: the last part is the credential
    ("slack_webhook", "hooks.slack.com/", r"hooks\.slack\.com/(?:services|workflows|triggers)/[\w/]{6,60}/(?:[\"'] ?[+.&]{1,2} ?[\"'])?(?P<s>\w{16,})", always),
    ("discord_webhook", "/api/webhooks/", r"/api/webhooks/\d{15,}/(?P<s>[\w-]{40,})", always),
    ("teams_webhook", ".office.com/", r"\.office\.com/webhook\S{0,100}?/IncomingWebhook/(?P<s>[\w/-]{30,})", always),
    ("zapier_webhook", "hooks.zapier.com/", r"hooks\.zapier\.com/hooks/catch/\d+/(?P<s>\w{5,})", always),
    ("make_webhook", ".make.com/", r"\.make\.com/(?P<s>[a-z0-9]{20,})", always),
    ("google_chat_webhook", "chat.googleapis.com/", r"chat\.googleapis\.com/\S{10,80}?[?&]key=(?P<s>[\w-]{20,})", always),
    ("ifttt_key", "maker.ifttt.com/", r"maker\.ifttt\.com/\S{5,80}/key/(?P<s>[\w-]{15,})", always),
    ("webhook", "hooks.", rf"hooks\.[\w.-]{{3,64}}/(?:[\w.-]{{1,40}}/){{0,6}}{_LAST_PART}", is_random),
    ("webhook", "/hooks/", rf"/hooks/(?:[\w.-]{{1,40}}/){{0,5}}{_LAST_PART}", is_random),
    ("homekit_payload", "X-HM://", r"X-HM://(?P<s>[0-9A-Z]{9,20})", always),
    ("webhook", "/webhook", rf"/webhooks?/(?:[\w.-]{{1,40}}/){{0,5}}{_LAST_PART}", is_random),
    # addresses whose last part opens them
    ("webhook", "hc-ping.com/", r"hc-ping\.com/(?P<s>[a-f0-9-]{36}|[\w-]{22}/)", always),
    ("webhook", "/api/push/", r"/api/push/(?P<s>[A-Za-z0-9]{10,64})", always),
    ("calendar_link", "/ical/", r"/ical/\S{1,200}?/private-(?P<s>[a-f0-9]{16,64})", always),
    ("stream_key", "rtmp", r"rtmps?://[\w.:-]{3,100}/(?:[\w.-]{1,40}/){1,3}(?P<s>(?=[\w-]*\d)[\w-]{12,128})", always),
    *(("signed_link", word, rf"{word}(?P<s>[a-f0-9]{{32,256}}|[\w%+/=-]{{40,512}})(?=[&\s\"'<>)]|\Z)", always) for word in ("sig=", "signature=")),
    ("signed_link", "token=", r"(?<=[?&_])token=(?P<s>[\w.~%+/=-]{16,2048})", is_random),
    ("conda_token", "/t/", r"/t/(?P<s>[a-z]{2}-[a-f0-9-]{36})/", always),
    ("notify_token", "://", r"(?<=gotify)://[\w.:-]{1,100}/(?P<s>[\w.-]{10,64})", always),
    ("project_key", "infura.io/", r"infura\.io/(?:ws/)?v3/(?P<s>[a-f0-9]{32})", always),
    ("project_key", "alchemy.com/", r"alchemy\.com/v2/(?P<s>[\w-]{24,64})", always),
    ("share_link", "sharepoint.com/:", r"sharepoint\.com/:\w:/\w/\S{0,120}?/(?P<s>E[\w-]{24,80})", always),
    ("azure_sas", "sig=", r"(?<=[?&;])sig=(?P<s>[\w%+/=-]{20,})", always),
    ("aws_presigned", "X-Amz-", r"X-Amz-(?:Signature|Security-Token)=(?P<s>[\w%+/=-]{20,})", always),
    ("saml_response", "SAMLResponse=", r"SAMLResponse=(?P<s>[\w%+/=-]{40,65536})", always),
    # generated parts of invitations
    ("invitation", "chat.whatsapp.com/", r"chat\.whatsapp\.com/(?P<s>[A-Za-z0-9]{20,24})", always),
    ("invitation", "shared_invite/", r"shared_invite/(?P<s>[\w~-]{16,128})", always),
    ("openweathermap_key", "appid=", r"appid=(?P<s>[a-f0-9]{32})(?![\w])", always),
    # links that log in whoever has them
    *(("login_link", f"/{word}", _LOGIN_LINK, is_random) for word in ("reset", "password", "verify", "confirm", "invit", "magic", "activate", "unlock")),
)  # fmt: skip
