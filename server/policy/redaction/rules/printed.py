"""What a command prints that prints a secret: `cat ~/.vault_pass`, `kubectl get secret … | base64 -d`, `pass show …`."""

import re
from collections.abc import Iterator
from typing import Final

from server.policy.redaction.chosen import is_chosen
from server.policy.redaction.page import Page
from server.policy.redaction.plausible import is_plausible, is_random
from server.policy.redaction.spans import Span

_PROMPT: Final = r"(?:[\w.@~:/\[\]() -]{0,60}[$#>%❯]|PS [^>\n]{0,80}>) ?"
_READS: Final = r"(?:cat|bat|less|more|head|tail|type|xxd|strings|[Gg]et-[Cc]ontent|gc)"
_SECRET_FILE: Final = (
    r"[^\s|;&]*(?:pass(?:wd|word|phrase)?|pw|secret|cookie|token|cred(?:ential)?s?|keyfile|api[-_.]?key|kennwort|passwort|[._-]key|psk|pin|seed|mnemonic|macaroon)"
    r"(?:[\w-]{0,16})(?:\.(?!pub|crt|pem|py|js|go|rb|md|html?|ya?ml|json|conf|ini|cfg|toml|sh|log|c|h)\w{1,8})?(?=[\s|;&\"']|\Z)"
)
_TELLS: Final = (
    r"(?:(?:pass|gopass|passage)(?: show| -c)? [\w./@-]+|op (?:read|item get)|bw get|rbw get|lpass show|secret-tool lookup|security find-\S+-password|keepassxc-cli show|vault kv get -field|"
    r"vault read -field|kubeadm token create|kubectl [^\n]{0,200}base64 (?:-d|-D|--decode)|oc whoami -t|oc (?:get|extract) secret|gcloud auth print|gcloud secrets versions access|"
    r"aws secretsmanager get-secret-value|aws ssm get-parameter|aws ecr get-login-password|az account get-access-token|az keyvault secret show|gh auth token|glab auth token|"
    r"heroku auth:token|fly(?:ctl)? auth token|terraform output|tofu output|pulumi config get|doppler secrets get|infisical secrets get|chamber read|credstash get|"
    r"sops (?:-d|decrypt)|ansible-vault (?:view|decrypt)|gpg (?:-d|--decrypt)|age -d|argocd [^\n]{0,60}initial-password|headscale (?:preauthkeys|apikeys) create|"
    r"pwgen|apg|openssl rand|xkcdpass|diceware|mkpasswd|uuidgen[^\n]{0,40}(?:token|secret)|docker swarm (?:join-token|unlock-key)|keyring get|kwallet-query|cmdkey|"
    r"nix-store --generate-binary-cache-key|wg (?:genkey|genpsk)|rails secret|mix phx\.gen\.secret|php artisan key:generate --show|jupyter server list|nomad acl bootstrap|consul acl bootstrap)"
)
_COMMAND: Final = re.compile(
    rf"(?:sudo (?:-\S+ )*|docker exec \S+ |kubectl exec [^\n]{{1,80}}? -- |ssh \S+ )*(?:{_READS} (?:-\S+ |\S+ )??{_SECRET_FILE}|{_TELLS})[^\n]{{0,300}}"
)
_WORDS: Final = "cat bat less head tail type xxd Get-Content pass gopass op bw rbw lpass secret-tool security keepassxc-cli vault kubeadm kubectl oc gcloud aws az gh glab heroku fly flyctl terraform tofu pulumi doppler infisical sops ansible-vault gpg age argocd headscale pwgen openssl xkcdpass mkpasswd docker keyring wg rails mix nomad consul".split()
ANCHORS: Final = tuple(f"{sign} {word} " for sign in "$#>" for word in (*_WORDS, "sudo"))
_ANCHORS: Final = frozenset(ANCHORS)
_OUTPUT: Final = re.compile(r"\r?\n(?P<s>[^\r\n]{4,512})")
_IS_PROMPT: Final = re.compile(rf"{_PROMPT}\S")
_MOST_LINES: Final = 3


def printed_spans(page: Page) -> Iterator[Span]:
    for anchor in page.held & _ANCHORS:
        for at in page.occurrences(anchor):
            if (command := _COMMAND.match(page.text, at + 2)) and "pub" not in command[0]:
                yield from _output(page.text, command.end())


def prints_secret(command: str) -> bool:
    """Whether what it prints is a secret."""
    return _COMMAND.match(command[:400]) is not None


def _output(text: str, at: int) -> Iterator[Span]:
    """The first line of what it printed, or one further down that looks like a key."""
    for number in range(_MOST_LINES):
        line = _OUTPUT.match(text, at)
        if line is None or (number and _IS_PROMPT.match(line["s"])):
            return
        value = line["s"].strip().strip("\"'")
        start = line.start("s") + line["s"].index(value) if value else line.start("s")
        if (not number and is_output(value)) or is_random(value, at_least=20):
            yield Span(start, start + len(value), "printed")
            return
        last = value.rpartition(" ")[2]
        if last != value and is_random(last, at_least=20):
            yield Span(start + len(value) - len(last), start + len(value), "printed")
            return
        at = line.end()


def is_output(value: str) -> bool:
    """One value, no message."""
    if " " in value:
        return False
    return (is_plausible(value, is_quoted=False) or is_chosen(value, is_quoted=True)) and not value.endswith(
        (":", ".", ",")
    )
