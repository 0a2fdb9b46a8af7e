"""Classes of verbs and of things that say what is done only together."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Class:
    reason: str
    verbs: frozenset[str]
    things: frozenset[str]

    def fits(self, words: frozenset[str], joined: frozenset[str]) -> bool:
        """`words`: what is done; `joined`: with what it is about."""
        return not self.verbs.isdisjoint(words) and not self.things.isdisjoint(joined)


def _class(reason: str, verbs: str, things: str) -> Class:
    return Class(reason, frozenset(verbs.split()), frozenset(things.split()))


_CHANGING: Final = "set change update edit modify replace put patch write alter configure assign"

CLASSES: Final = (
    _class("sends in the user's name", "send forward dispatch reply redirect", "mail gmail outlook letter fax newsletter mailchimp sendgrid mailgun campaign mailing"),
    _class(
        "switches a guard off",
        "off deactivate disable mute silence pause stop suspend skip suppress exclude",
        "alarm camera monitoring monitor monitors alert logging audit mfa 2fa totp firewall antivirus defender edr backup encryption siren "
        "detector waf sensor smoke guard protection surveillance cctv pagerduty datadog",
    ),
    _class(
        "opens what is locked",
        "open release lift",
        "door gate garage lock safe vault valve trunk barrier shutter hatch window sluice breaker frunk firewall port ports ingress",
    ),
    _class(
        "spends money",
        "create launch provision rent add scale spin request allocate reserve order deploy resize upgrade",
        "instance vm vms server droplet ec2 gpu cluster runpod vastai lambdalabs linode node nodepool compute machine fleet reservation sagemaker "
        "bigquery_slots dyno dynos baremetal",
    ),
    _class("spends money", "run start", "instance vm vms droplet ec2 gpu cluster runpod sagemaker nodepool"),
    _class(
        "changes rights",
        f"{_CHANGING} add create give remove attach bind invite approve share open",
        "permission acl acls iam owner ownership admin admins administrator privilege sudoers rbac role binding policy policies "
        "collaborator maintainer delegate delegation entitlement scopes guest superuser member",
    ),
    _class(
        "changes who can see it",
        f"{_CHANGING} create make",
        "visibility privacy sharing public acl cors",
    ),
    _class(
        "changes what others use",
        f"{_CHANGING} point delegate import",
        "dns zone nameserver nameservers ns mx whois registrar firewall ingress routing bgp vlan switch router wlan wifi proxy certificate "
        "loadbalancer cdn rules",
    ),
    _class(
        "may lock somebody out",
        f"{_CHANGING} remove add unlock freeze lock expire enforce",
        "password passphrase pin mfa 2fa totp otp recovery passkey authenticator login credentials bitlocker",
    ),
    _class(
        "closes an account or ends a contract",
        "close end cancel terminate leave give withdraw",
        "account contract lease subscription booking appointment insurance membership policy tenancy employment",
    ),
    _class(
        "binds the user",
        "submit file lodge conclude confirm apply enter renew extend switch",
        "tax application claim contract lease loan insurance visa patent objection petition consent order booking tariff mortgage bid will "
        "declaration vat elster return tender complaint registration",
    ),
    _class(
        "spends money",
        "order book reserve rent renew top upgrade place extend confirm",
        "food groceries flight hotel ticket taxi car train ride room table apartment restaurant prescription medicine course seat tour cruise cab vaccination doctor dentist checkup lesson session slot venue massage haircut court appointment "
        "domain subscription plan credits bet bid order pizza meal",
    ),
    _class(
        "speaks in public",
        "post submit upload respond reply write create add",
        "tweet review facebook instagram linkedin reddit mastodon bluesky tiktok youtube story reel press listing ad ads timeline",
    ),
    _class("changes many", "archive hide move replace mark rename send close", "all everything every entire"),
    _class("takes away what others use", "archive freeze hide", "channel conversation conversations repo repository project board workspace space team database site group page folder"),
    _class("switches a guard off", "create start schedule add open window set", "maintenance downtime silence blackout"),
    _class("deletes", "off", "file folder document photo message account contact note database table backup"),
    _class("writes to a plant", "write set force send", "register coil plc modbus setpoint opcua scada actuator relay bacnet knx"),
)  # fmt: skip
