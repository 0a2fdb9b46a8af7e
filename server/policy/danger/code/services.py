"""Methods of the clients of services, whose chains say what is done as names of tools do: `gh.rest.repos.delete`."""

import re
from typing import Final

from server.policy.danger.anchored import Anchored
from server.policy.danger.names.judge import judge_name

CLIENTS: Final = re.compile(
    r"octokit|@octokit|boto3?\b|aws-sdk|@aws-sdk|googleapi|google\.cloud|google-cloud|@google-cloud|googleads|@azure|azure\.|msgraph|microsoft-graph|kubernetes|stripe\b|twilio|@slack|slack_sdk|"
    r"discord\b|telegram|telethon|pyrogram|tweepy|praw\b|notion|airtable|hubspot|salesforce|simple_salesforce|shopify|woocommerce|PyGithub|\bgithub\b|gitlab|jira\b|"
    r"atlassian|ftplib|pysftp|asyncssh|ldap|imaplib|imapclient|exchangelib|O365|gspread|sendgrid|mailchimp|mailgun|resend|firebase|firestore|supabase|mongoose|prisma|sequelize|elasticsearch|opensearch|"
    r"redis\b|paramiko|docker\b|dockerode|hvac\b|pynetbox|netmiko|napalm|web3|ethers|solana|bitcoin|ccxt|binance|coinbase|paypal|braintree|mollie|plaid|cloudflare|digitalocean|"
    r"hcloud|linode|openstack|libcloud|pulumi|keycloak|auth0|okta|zoom|calendar|drive|gmail|GmailApp|SpreadsheetApp|jenkins|dropbox|boxsdk|nextcloud|webdav|caldav|trello|asana|zendesk|homeassistant|paho|WP_Query|wp-load|SOAP|zeep|vonage|messagebird|whatsapp",
    re.IGNORECASE,
)
_NAMED: Final = Anchored([(CLIENTS, True)])
_CHAIN: Final = re.compile(
    r"(?:(?:\.|->|::)[A-Za-z_]\w{1,60}(?:\([^()\n]{0,200}\))?){0,8}(?:\.|->)([A-Za-z_]\w{1,60})[!?]?\s*\("
)
_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_ARGUMENT: Final = re.compile(r"\([^()]*\)")
_VERBS: Final = frozenset(
    "delete destroy terminate purge revoke disable deactivate suspend archive transfer send publish invite grant merge charge refund cancel reboot stop kick ban prune "
    "wipe erase expunge store moddn modify unlink restart shutdown deploy withdraw buy sell order pay vote approve scale".split()
)
"""As the first word of a method, of a service's client."""
_GIVING: Final = frozenset("create insert add update patch set put attach modify".split())
_GIVEN: Final = frozenset(
    "permission permissions acl acls iam policy policies role roles member members collaborators accesskey grants users login dns forwarding charges payouts orders".split()
)
_READING: Final = (
    ["get"],
    ["list"],
    ["search"],
    ["fetch"],
    ["describe"],
    ["is"],
    ["has"],
    ["on"],
    ["find"],
    ["read"],
    ["show"],
    ["count"],
)
_MAX_CHARS: Final = 50_000


def by_service(code: str) -> str | None:
    """Why somebody should be asked; None: no service is reached, or its client only looks."""
    head = code[:_MAX_CHARS]
    if not _NAMED.first(head):
        return None
    return next((reason for match in _CHAIN.finditer(head) if (reason := _judge(match[0]))), None)


def _judge(chain: str) -> str | None:
    """`.permissions().create(…).execute(`: any of its methods may say it."""
    names = _NAME.findall(_ARGUMENT.sub(" ", chain))
    about = {word for name in names for word in _words(name)}
    return next((reason for name in names if (reason := _by_method(name, about, len(names)))), None)


def _by_method(method: str, about: set[str], length: int) -> str | None:
    words = _words(method)
    if not words or method in _OWN or method.istitle() or words[:1] in _READING:
        return None
    if words[0] in _VERBS or (len(words) > 1 and not _VERBS.isdisjoint(words)):
        return judge_name(method) or "changes what a service keeps"
    if words[0] == "remove" and length > _LONG_CHAIN:
        return "deletes what a service keeps"
    return "gives rights away" if words[0] in _GIVING and about & _GIVEN else None


_LONG_CHAIN: Final = 2
_PART: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_OWN: Final = frozenset(
    "send_signal stop_iteration order_by order deleteLater sendStatus sendFile merge_asof store archive_name stop set_index update_layout".split()
)
"""Of the language or of a library, not of a service."""


def _words(name: str) -> list[str]:
    return [word.lower() for word in _PART.findall(name)]
