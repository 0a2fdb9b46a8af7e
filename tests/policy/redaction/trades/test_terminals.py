"""What stands in terminals: what a command prints, files of logins, columns, and what is indented below a name."""

from typing import Any

import pytest

from server.policy.redaction.rules.printed import prints_secret
from server.policy.redaction.scan import secrets_in
from tests.policy.redaction.trades.texts import clean, missed

SECRET: list[Any] = [
    ("bash: Tr0ub4dor&3: command not found", "Tr0ub4dor&3"),
    ("setx DB_PWD windows-umg", "windows-umg"),
    (">>> settings.SECRET_KEY\n'8vKq2LrXw9TbN4mZc7Yp'", "8vKq2LrXw9TbN4mZc7Yp"),
    ('irb> ENV["DB_PASSWORD"]\n=> "rubin-rot"', "rubin-rot"),
    ("$ echo $DB_PASSWORD\nech0-ech0", "ech0-ech0"),
    ('connecting as sa with "Wintergarten51$"', "Wintergarten51$"),
    ("USER anna\nPASS schnueffel", "schnueffel"),
    ("IPMI root/0penBmc7", "0penBmc7"),
    # printed
    "$ cat ~/.restic-password\nTundra-4417!x\n$ ls",
    "$ sudo cat /etc/app/db_secret\n8vKq2LrXw9TbN4mZc7Yp\n",
    "$ kubectl get secret db -o jsonpath='{.data.pw}' | base64 -d\nSommerwind77x\n",
    "$ pass show mail/anna\nKestrel_88!\n",
    "$ openssl rand -base64 24\nZt5wQm8LxV2nKc7RbJ4yHs9P\n",
    "$ vault kv get -field=pw secret/db\nTundra-4417!x",
    "$ cat signing.key\ned25519 a_1 Zt5wQm8LxV2nKc7RbJ4yHs9P",
    {"command": "pass show vpn", "stdout": "Kestrel_88!\n"},
    ["$ gopass show wlan", "Tundra-4417!x", "$ ls"],
    # files of logins
    "# /etc/rsyncd.secrets\nbackup:Tundra-4417!x\n",
    "$ cat /etc/postfix/sasl_passwd\n[mx.example]:587 anna:Kestrel_88!\n",
    ("# auth.txt\nanna\nnebel_am_see\n", "nebel_am_see"),
    ("; /etc/ppp/chap-secrets\nanna * Nebel+See *\n", "Nebel+See"),
    # columns
    "id  service   password\n--  --------  -------------\n1   water     Tundra-4417!x\n2   power     Kestrel_88!\n",
    "name   key                       secret\nmain   8vKq2LrXw9TbN4mZc7Yp      Zt5wQm8LxV2nKc7RbJ4yHs9P\n",
    # indented below
    "secrets:\n  forum: Zt5wQm8LxV2nKc7RbJ4yHs9P\n  shop: 8vKq2LrXw9TbN4mZc7Yp\n",
    ("root_pw:\n    Nebel&See\n", "Nebel&See"),
    # numbers
    ("network_key: [17, 204, 9, 88, 131, 240, 6, 77]", "17, 204, 9, 88"),
    ("uint8_t app_key[8] = {0xA1,0x5C,0x0E,0x77,0x3D,0x92,0xF8,0x14};", "0xA1,0x5C"),
]
HARMLESS: list[Any] = [
    "$ cat id_ed25519.pub\nssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIuaB6y",
    "$ cat publickey\ntXNsIZPKBo0/ZYG+hWsCUyUTa2cZZQeuu4ydq4bDQjk=",
    "$ cat password_rules.md\nAtleast-twelve!signs\n",
    "$ ls\nTundra\n",
    "$ pass show mail/anna\nError: mail/anna is not in the password store.\n",
    "# /etc/chap-secrets is read by pppd\nanna:readme\n",
    "NAME           CREATED     POLICY\ndb-password    2026-01-03  automatic\nstripe-token   2026-01-04  automatic\n",
    "  -r, --repo          where\n  --password          ask for one\n",
    "secrets:\n  forum:\n    external: true\n  tls: my-app-tls\n",
    "shape: [17, 204, 9, 88, 131, 240, 6, 77]",
    {"command": "ls", "stdout": "Kestrel_88!\n"},
    ["$ ls", "Tundra-4417!x"],
]
NEAR_MISSES = [
    "$ cat x.pass ",
    "$ pass x\nab cd\n",
    "# /etc/chap-secrets\n",
    "a  password\nb  c d\n",
    "password  x",
    "secrets:\n  a: b\n",
    "key = [1,2,3,4,5,6,7,",
    "key[8]={1,",
    "password\r\n\r\n",
    "'password'\n2) \"",
    "password….",
]


@pytest.mark.parametrize("given", SECRET)
def test_what_a_terminal_shows_is_taken_out(given: Any) -> None:
    assert missed(given) == []


def test_what_is_harmless_stays() -> None:
    assert [given for given in HARMLESS if clean(given) != given] == []


@pytest.mark.parametrize("piece", NEAR_MISSES)
def test_no_text_takes_more_than_linear_time(piece: str) -> None:
    secrets_in((piece * (65_536 // len(piece) + 1))[:65_536])


def test_a_command_that_reads_a_secret_is_told_from_one_that_does_not() -> None:
    assert prints_secret("kubeadm token create --print-join-command")
    assert prints_secret("sudo cat /root/.vault_pass")
    assert not prints_secret("cat README.md")
    assert not prints_secret("passwd anna")
