"""JSON values: what a key says of its value, rows of tables, lists of arguments."""

from typing import Any

from tests.policy.redaction.trades.texts import clean, missed

SECRET: list[Any] = [
    (
        {"messages": [{"from": "a", "text": "what's the wifi password?"}, {"from": "b", "text": "Sommerwind77"}]},
        "Sommerwind77",
    ),
    ({"turns": [{"heard": "unlock", "reply": "Tell me your PIN please"}, {"heard": "4711", "reply": "Done"}]}, "4711"),
    ({"question": "What is the admin password?", "answer": "Zitronengras"}, "Zitronengras"),
    ({"who": "Zara", "dev": "iPad", "passkey": "0-0-7-0"}, "0-0-7-0"),
    ({"totp": "JBSWY3DPEHPK3PXP"}, "JBSWY3DPEHPK3PXP"),
    {"AccessKeyId": "AKIA7ZT5WQM8LXV2NKC7", "SecretAccessKey": "Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6/Zt5wQm8"},
    {"SecretString": '{"username":"u","password":"Kestrel_88!"}'},
    {"SecretString": "Kestrel_88!"},
    {
        "access_token": "Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6",
        "refresh_token": "Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6x",
        "id_token": "a",
    },
    (
        {
            "type": "service_account",
            "private_key_id": "3f9c1d7be2a84506a1c7f0e9d2b85c46",
            "private_key": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----\n",
        },
        "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC",
    ),
    (
        {
            "appId": "8a2bdf3f-e612-4ec2-84a3-a8b5665bba54",
            "password": "Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6",
            "tenant": "x",
        },
        "Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6",
    ),
    {
        "keys": [
            {
                "keyName": "key1",
                "value": "Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6",
                "permissions": "FULL",
            }
        ]
    },
    {"connectionString": "AccountName=a;AccountKey=Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6=="},
    {"headers": [{"name": "Authorization", "value": "Bearer Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6"}]},
    {"cookies": [{"name": "session", "value": "Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6"}]},
    {
        "request": {
            "auth": {"type": "bearer", "bearer": [{"key": "token", "value": "Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6"}]}
        }
    },
    {
        "auth": {
            "type": "basic",
            "basic": [{"key": "username", "value": "u"}, {"key": "password", "value": "Mondlicht42"}],
        }
    },
    {"Env": ["PATH=/x", "REDIS_PASSWORD=Mondlicht42"]},
    {"credentials": {"user": "u", "pass": "Mondlicht42"}},
    {"login": "anna", "pw": "Mondlicht42"},
    {"user": "a", "secret": "Kestrel_88!"},
    ({"mfa": {"secret": "JBSWY3DPEHPK3PXPJBSWY3DP"}}, "JBSWY3DPEHPK3PXPJBSWY3DP"),
    {"pin": "4711"},
    {"pin": 4711},
    {"otp": "482913"},
    ({"backup_codes": ["a1b2-c3d4", "e5f6-g7h8"]}, "a1b2-c3d4"),
    ({"mnemonic": "witch collapse practice feed shame open despair creek road again ice least"}, "witch collapse"),
    {"wifi": {"ssid": "x", "key": "Mondlicht42"}},
    {"wifi": {"ssid": "x", "passphrase": "Mondlicht42"}},
    {"webhook_url": "https://hooks.slack.com/services/T0ABC/B0ABC/Zt5wQm8LxV2nKc7RbJ4yHs9P"},
    {"dsn": "postgres://u:Kestrel_88!@h/d"},
    {"resources": [{"instances": [{"attributes": {"password": "Mondlicht42", "username": "x"}}]}]},
    {"outputs": {"db_password": {"value": "Mondlicht42", "sensitive": True}}},
    {"apiKey": "Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6"},
    {"x-api-key": "Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6"},
    {"Authorization": "Basic c2VjcmV0OnZlcnlzZWNyZXQxMjM0NQ=="},
    {"authorization": "Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6"},
    {"jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6"},
    {"sessionToken": "Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6"},
    {"csrf": "Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6"},
    {"signature": "Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6"},
    ({"licenseKey": "ABCDE-12345-FGHIJ-67890-KLMNO"}, "12345-FGHIJ"),
    {"encryptionKey": "Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6"},
    {"hash": "$2b$12$Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6Zt5wQm8LxV2nKc7RbJ4yH"},
    {"password_hash": "$argon2id$v=19$m=65536,t=3,p=4$c2FsdHNhbHQ$Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6"},
    {"privateKey": "3f9c1d7be2a84506a1c7f0e9d2b85c463f9c1d7be2a84506a1c7f0e9d2b85c46"},
    {"seed": "0x3f9c1d7be2a84506a1c7f0e9d2b85c463f9c1d7be2a84506a1c7f0e9d2b85c46"},
    {"key": "Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6", "secret": "Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6z"},
    ({"clientSecret": "hgTrWqZpLk"}, "hgTrWqZpLk"),
    {"credentials": ["anna", "Mondlicht42"]},
    {"args": ["--password", "Mondlicht42"]},
    {"args": ["--password=Mondlicht42"]},
    {"cmd": ["mysql", "-u", "root", "-pMondlicht42"]},
    {"cmd": ["curl", "-u", "u:Mondlicht42", "x"]},
    {"command": "sshpass -p Mondlicht42 ssh h"},
    {"rows": [["anna", "Mondlicht42"]], "columns": ["user", "password"]},
    [["user", "password"], ["anna", "Mondlicht42"]],
    [{"user": "a", "password": "Mondlicht42"}, {"user": "b", "password": "Kestrel_88!"}],
    {"body": "grant_type=password&username=u&password=Mondlicht42"},
    {"html": '<input type="password" value="Mondlicht42">'},
    {"note": "pw: Mondlicht42"},
    {"messages": [{"role": "user", "content": "my password is Mondlicht42"}]},
    {"Passwort": "Mondlicht42"},
    {"密码": "Mondlicht42"},
    {"пароль": "Mondlicht42"},
    {"contraseña": "Mondlicht42"},
    {"mot_de_passe": "Mondlicht42"},
    {"data": {"password": "c2VjcmV0OnZlcnlzZWNyZXQxMjM0NQ=="}},
    {"kind": "Secret", "data": {"x": "c2VjcmV0OnZlcnlzZWNyZXQxMjM0NQ=="}},
    {"kind": "Secret", "stringData": {"x": "Kestrel_88!"}},
    {"auths": {"r": {"auth": "c2VjcmV0OnZlcnlzZWNyZXQxMjM0NQ=="}}},
    {"name": "API_TOKEN", "value": "Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6"},
    {"Name": "DB_PASSWORD", "Value": "Mondlicht42"},
    {"Key": "db.password", "Value": "Mondlicht42"},
    {"ParameterKey": "DBPassword", "ParameterValue": "Mondlicht42"},
    {"Parameter": {"Name": "/prod/db/password", "Type": "SecureString", "Value": "Mondlicht42"}},
    {"key": "password", "val": "Mondlicht42"},
    {"variable": {"db_password": {"default": "Mondlicht42"}}},
    {"basic_auth": {"username": "u", "password": "Mondlicht42"}},
    {"secrets": {"db": "Kestrel_88!"}},
    {"tokens": ["Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6", "Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6y"]},
    {"ssh_password": "Mondlicht42"},
    {"become_pass": "Mondlicht42"},
]

HARMLESS: list[Any] = [
    {"messages": [{"from": "a", "text": "do you know the password?"}, {"from": "b", "text": "nothing"}]},
    {"header": ["Login", "Where is the password"], "rows": [["anna", "Barb's head"]]},
    "from grammar import rules, token\nfrom pygram import pattern_symbols, python_symbols\n",
    "password\tinclude\t\tsu\nsession\t\toptional\tkeyinit.so\n",
    "464\tkpasswd\n783\tspamd daemon2\n873\trsync-daemon2\n",
    "kpasswd\t\t464/tcp\nkpasswd\t\t464/udp\n",
    "user|passwd|\nmod|close_all2|\n",
    "    'refute', 'passwd',\n    'term', 'spark_status2',\n",
    "login                 513/tcp\nklogin                543/tcp\n",
    '["password", "email", "phone2"]',
    '{"field": "password", "rule": "min8"}',
    {"name": "password", "type": "text", "value": ""},
    {"key": "theme", "value": "dark2"},
    {"name": "token", "description": "The token2 to use"},
    {"label": "Password", "placeholder": "8 characters min"},
    {"total_tokens": 1234, "prompt_tokens": 12},
    {"password": "required|min:8"},
    {"required": ["username", "password"]},
    {"password": {"type": "string", "minLength": 8}},
    {"session": "morning-2"},
    {"token_type": "Bearer"},
    {"key": "user_42", "size": 12},
    {"keys": ["a1", "b2"]},
    {"secretName": "tls-2024"},
    {"pin": "pinned"},
    {"code": 200},
    {"code": "E1001"},
    {"id": "8a2bdf3fe6126ec204a3a8b5665bba54", "kind": "Secret", "metadata": {"name": "x1"}},
    {"args": ["--verbose", "--port=8080"]},
    {"cmd": ["git", "log", "-p", "v1.2.3"]},
    {"columns": ["id", "name"], "rows": [["1", "anna2"]]},
]


def test_what_is_secret_is_gone() -> None:
    assert {str(entry): left for entry in SECRET if (left := missed(entry))} == {}


def test_what_is_harmless_stays() -> None:
    assert [given for given in HARMLESS if clean(given) != given] == []
