"""What programs print, histories of shells, tables and sums."""

from typing import Any

from tests.policy.redaction.trades.texts import clean, missed

SECRET: list[Any] = [
    "0 3 * * * PGPASSWORD=Mondlicht42 pg_dump x",
    "  471  mysql -u root -pMondlicht42",
    "  472  export AWS_SECRET_ACCESS_KEY=Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6Zt5wQm8L",
    "root 12 0.0 mysqld --password=Mondlicht42",
    "sudo: anna : COMMAND=/usr/bin/mysql -pMondlicht42",
    "+  password: Mondlicht42",
    '-API_KEY = "Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6"',
    "> Authorization: Bearer Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6",
    "> Cookie: sid=Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6",
    "< Set-Cookie: token=Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6; Path=/",
    "wandb: Paste an API key: 3f9c1d7be2a84506a1c7f0e9d2b85c463f9c1d7b",
    "WANDB_API_KEY=3f9c1d7be2a84506a1c7f0e9d2b85c463f9c1d7b",
    "Enter password: Mondlicht42",
    "Password: Mondlicht42",
    "Token generated: Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6",
    "Your API key is: Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6",
    "New API key created: Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6",
    "initial admin password: Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6",
    "Access Token : Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6",
    "   Root Token: s.Zt5wQm8LxV2nKc7RbJ4yHs9P",
    ("join --token zt5wqm.8lxv2nkc7rbj4yhs h", "8lxv2nkc7rbj4yhs"),
    "SWMTKN-1-3f9c1d7be2a84506a1c7f0e9d2b85c463f9c1d7be2a84506a1c7f0e9d2b85c46-3f9c1d7be2a84506a1c7f0e9d",
    "TOKEN      Zt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6",
    "token\tZt5wQm8LxV2nKc7RbJ4yHs9PdGf3TaE6",
]

HARMLESS: list[Any] = [
    "public key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ3kq2LrXw9TbN4mZc7Yp3HsJd6FgA1eU8vKq2LrXw",
    "kid: 8vKq2LrXw9TbN4mZc7Yp3HsJd6FgA1eU",
    "API key ID: 8a2bdf3fe6126ec204a3a8b5665bba54",
    "access key id",
    "client id is web-app-2",
    "Who changed the password?\nanna did it yesterday",
    "What's the password?\nI don't know",
    "Password?\n> no idea",
    "forgot password?\nreset it",
    "is v1.2.3 the token version",
    "as password manager we use Bitwarden2",
    "Bitwarden2 is the password manager",
    "admin2 is the password admin",
    "Version 2.4.1 is the key release",
    "Room 12B is the secret meeting room",
    "user1 as login",
    "admin:admin group:users",
    "root:x:0:0:root:/root:/bin/bash",
    "admin:role2",
    "chown root:wheel2 f",
    "deploy:prod1 job",
    "[default]\nregion = eu-central-1\noutput = json",
    "user,role,last_login\nanna,admin,2026-01-01",
    "name,token_count\na,1234",
    "| key | value |\n|---|---|\n| color | red1 |",
    "| Name | Password policy |\n|---|---|\n| anna | Strong1 |",
    "'token', 'tokenize', 'toint64',",
]


def test_what_is_secret_is_gone() -> None:
    assert {str(entry): left for entry in SECRET if (left := missed(entry))} == {}


def test_what_is_harmless_stays() -> None:
    assert [given for given in HARMLESS if clean(given) != given] == []
