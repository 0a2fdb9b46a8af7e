"""Programs, devices and services with words of their own for a secret."""

from typing import Any

import pytest

from server.policy.redaction.scan import secrets_in
from tests.policy.redaction.trades.texts import clean, missed

SECRET: list[Any] = [
    # commands: quotes keep a word together, and positions tell
    ("mysql -u app -p'Nebel am See' shop", "Nebel am See"),
    ('xfreerdp /v:h /u:anna /p:"Nebel am See" /cert:tofu', "Nebel am See"),
    "mc alias set s3 https://s3.example admin Tundra-4417!x",
    "rabbitmqctl add_user anna Tundra-4417!x",
    ("slmgr /ipk 8A2BD-F3FXX-11AB2-YYZZ9-K3LMN", "F3FXX"),
    ("plugin -H h -u anna -p nebel-am-see -d /in", "nebel-am-see"),
    "etcdctl --user root:Tundra-4417!x endpoint status",
    "ACL SETUSER anna on >Tundra-4417!x ~* +@all",
    'createUser anna SHA "Tundra-4417!x" AES "Kestrel_88!"',
    "MONITOR ups@localhost 1 anna Tundra-4417!x primary",
    # lines of devices
    " neighbor 10.0.0.2 password Tundra-4417!x",
    (" ip ospf message-digest-key 1 md5 7 8A2BDF3F0011", "8A2BDF3F0011"),
    ('password manager user-name "a" plaintext "Nebel am See"', "Nebel am See"),
    ("set passwd ENC Zt5wQm8LxV2nKc7RbJ4yHs9Pq83vEjRWeJ==", "Zt5wQm8LxV2nKc7R"),
    # settings
    ("DB_PASSWORD: nebel_am_see\n", "nebel_am_see"),
    ("password = Nebel;See\n", "Nebel;See"),
    ('<param name="password">Nebel am See</param>', "Nebel am See"),
    ("<tr><td>Kennwort</td><td><code>Nebel+See</code></td></tr>", "Nebel+See"),
    ('1) "requirepass"\n2) "Nebel+See"\n', "Nebel+See"),
    ("'host=h user=u password=nebel-am-see dbname=d'", "nebel-am-see"),
    ("API Key ............ 8vKq2LrXw9TbN4mZc7Yp\n", "8vKq2LrXw9TbN4mZc7Yp"),
    ("DefaultPassword    REG_SZ    Nebel!See", "Nebel!See"),
    ('a:1:{s:3:"pin";s:5:"48291";}', "48291"),
    ('alarm_code: "4711"', "4711"),
    ('form-data; name="codice_accesso"\r\n\r\nNebel!See-7\r\n--x', "Nebel!See-7"),
    # calls
    ('let c = Credentials::new("a@b.example".into(), "Nebel+See".into());', "Nebel+See"),
    ("ftp_login($c, 'anna', 'Nebel+See')", "Nebel+See"),
    ('ks.load(in, "Nebel-See".toCharArray())', "Nebel-See"),
    ("('Nebel+See' | ConvertTo-SecureString -AsPlainText -Force)", "Nebel+See"),
    ("btoa('anna:Nebel+See')", "Nebel+See"),
    ("PRAGMA key = 'Nebel am See';", "Nebel am See"),
    # blocks, links, hashes
    (
        "-----BEGIN OpenVPN Static key V1-----\n8a2bdf3f8a2bdf3f8a2bdf3f\n-----END OpenVPN Static key V1-----",
        "8a2bdf3f8a2b",
    ),
    ("https://hc-ping.com/2a9407a7-e3a4-4c8d-ac52-0048d20bd4c6", "2a9407a7-e3a4"),
    ("rtmp://live.example/app/zt5w-qm8l-xv2n-kc7r", "zt5w-qm8l"),
    ("https://h/f?temp_url_sig=8a2bdf3f8a2bdf3f8a2bdf3f8a2bdf3f8a2bdf3f&e=1", "8a2bdf3f8a2b"),
    ("| root | *8A2BDF3F8A2BDF3F8A2BDF3F8A2BDF3F8A2BDF3F |", "8A2BDF3F8A2B"),
    (".example\tTRUE\t/\tTRUE\t1790000000\tSID\tZt5wQm8LxV2nKc7RbJ4yHs9P", "Zt5wQm8LxV2n"),
    # structures
    {"columns": ["id", "name", "value"], "rows": [[1, "smtp_pass", "Tundra-4417!x"], [2, "title", "Shop"]]},
    {"secrets": [{"id": "1", "value": "8vKq2LrXw9TbN4mZc7Yp"}]},
    {"keyName": "key1", "permissions": "FULL", "value": "Zt5wQm8LxV2nKc7RbJ4yHs9P"},
]
HARMLESS: list[Any] = [
    "docker run -u 1000 -p 8080:80 web",
    "docker build --secret id=npmrc,src=$HOME/.npmrc .",
    'curl -H "Authorization: Bearer $TOKEN" https://api.example/v1/files',
    "login ok method=password ip=10.2.0.14",
    "snmp-server community <removed> RO",
    "usage: wpa_passphrase <ssid> [passphrase]",
    "License-File-Hash: sha256:8a2bdf3f8a2bdf3f8a2bdf3f8a2bdf3f8a2bdf3f8a2bdf3f8a2bdf3f8a2bdf3f",
    ".btn--password::after{content:'x'}",
    "secrets: [minio_user, minio_password]",
    "sudo: anna : TTY=pts/2 ; PWD=/home/anna ; USER=root",
    'strpbrk(password, "0123456789")',
    {"login.password": "Mot de passe", "de": {"password": "Kennwort"}},
    {"columns": ["id", "name", "value"], "rows": [[1, "title", "Tundra-4417!x"]]},
    {"name": "STRIPE_SECRET_KEY", "value": "[encrypted]"},
]
NEAR_MISSES = [
    " -u a -p ",
    "/ical/a/private-",
    "rtmp://a/b/c/",
    "sig=abcdef0123",
    "user.info=a:",
    'LOGIN "a" "',
    'a@b.cc", "',
    "password</td><td>",
    "\tTRUE\t0\ta\t",
    "AUTH\\r\\n$1\\r\\n",
    "createUser a SHA ",
    "host=a user=b password=",
    "add password a {",
    "-----BEGIN LICENSE-----",
]


@pytest.mark.parametrize("given", SECRET)
def test_what_a_program_takes_is_taken_out(given: Any) -> None:
    assert missed(given) == []


def test_what_is_harmless_stays() -> None:
    assert [given for given in HARMLESS if clean(given) != given] == []


@pytest.mark.parametrize("piece", NEAR_MISSES)
def test_no_text_takes_more_than_linear_time(piece: str) -> None:
    secrets_in((piece * (65_536 // len(piece) + 1))[:65_536])
