"""Which places in a file system are not for everyday writing."""

import re
from typing import Final

_SYSTEM: Final = re.compile(
    r"(?:/(?:etc|boot|bin|sbin|lib|lib64|usr|sys|proc|root|System|Library|private/etc|srv|opt|var(?!/tmp|/folders))(?:/|\Z)"
    r"|/(?:dev)/(?!null\Z|stdout\Z|stderr\Z|tty\Z|fd/|zero\Z|shm/|stdin\Z)"
    r"|/(?:Applications|Windows)(?:/|\Z)|/\Z|[A-Za-z]:[\\/]?\Z|[A-Za-z]:[\\/](?:Windows|Program Files|ProgramData|boot)"
    r"|%(?:SystemRoot|WINDIR|ProgramFiles)%|\\\\\.\\|HKLM|HKEY_LOCAL_MACHINE|\$env:(?:windir|SystemRoot))",
    re.IGNORECASE,
)
_HOME_SETTINGS: Final = re.compile(
    r"(?:^|[/\\])(?:\.ssh|\.gnupg|\.aws|\.azure|\.kube|\.docker/config\.json|\.config/(?:autostart|systemd|fish/config|gcloud|gh)"
    r"|LaunchAgents|LaunchDaemons|\.bashrc|\.bash_profile|\.bash_logout|\.bash_login|\.profile|\.zshrc|\.zprofile|\.zshenv|\.xinitrc|\.xprofile"
    r"|\.netrc|\.pgpass|\.npmrc|\.pypirc|\.gitconfig|\.git/(?:hooks|config)|\.git-credentials|\.password-store|authorized_keys|known_hosts"
    r"|id_(?:rsa|ed25519|ecdsa|dsa)|crontabs?|cron\.d|sudoers(?:\.d)?|Startup|Start Menu[/\\]Programs[/\\]Startup|\.vscode/(?:tasks|settings)\.json"
    r"|\.github/workflows|\.gitlab-ci\.yml|hosts|fstab|passwd|shadow|\.env|\.envrc|\.pam_environment|\.inputrc|\.vimrc|\.config/nvim|\.claude(?!/(?:commands|agents|plans))|\.codex|\.gemini|\.cursor/(?:mcp\.json|rules|hooks\.json)|mcp\.json|\.mcp\.json|\.continue|\.config/(?:opencode|goose|git|pip|hypr|sway|i3)|PowerShell_profile\.ps1|pip\.conf|pip\.ini|\.yarnrc(?:\.yml)?|\.cargo/config(?:\.toml)?|\.husky|lefthook\.yml|\.pre-commit-config\.yaml|Jenkinsfile|\.local/share/applications)(?:[/\\]|\Z)",
    re.IGNORECASE,
)
_CLIMBS: Final = re.compile(r"(?:\.\.[/\\]){2,}")
_SCRATCH: Final = re.compile(
    r"(?:/tmp|/var/tmp|/dev/shm|/private/tmp|\$TMPDIR|\$\{TMPDIR\}|%TEMP%|%TMP%|\$env:TEMP|[A-Za-z]:[\\/]Temp|/var/folders)(?:[/\\]|\Z)",
    re.IGNORECASE,
)
_PRIVATE: Final = re.compile(
    r"(?:^|[/\\~])(?:\.ssh|\.gnupg|\.aws|\.azure|\.kube|\.netrc|\.pgpass|\.git-credentials|\.password-store|id_(?:rsa|ed25519|ecdsa|dsa)|shadow|\.env"
    r"|\.npmrc|\.pypirc|wallet\.dat|keychain|\.docker|cookies(?:\.sqlite)?|logins\.json|Login Data|credentials|secrets?|passwords?|\.bash_history|\.zsh_history"
    r"|\.config/(?:gcloud|gh|google-chrome|chromium)|\.mozilla|Keychains|\.electrum|\.bitcoin|master\.key|tokens?\.json|.*\.kdbx|.*\.pem|.*\.p12|.*\.pfx|.*\.key)(?:[/\\]|\Z)",
    re.IGNORECASE,
)


_MAX_CHARS: Final = 300
_KEY: Final = re.compile(
    r"(?:^|[/\\~])(?:id_(?:rsa|ed25519|ecdsa|dsa)|\.aws/credentials|etc/shadow|\.netrc|\.pgpass|\.git-credentials|wallet\.dat|logins\.json|\.kube/config|master\.key"
    r"|\.docker/config\.json|\.config/gcloud/[\w.]+|\.gnupg/.*|\.password-store/.*|Login Data|.*\.kdbx|\.vault-token|\.config/gh/hosts\.yml)\Z"
)


def is_scratch(path: str) -> bool:
    return _SCRATCH.match(path) is not None and ".." not in path


def is_protected(path: str) -> bool:
    """Belongs to the system, or tells programs of the user what to run or whom to trust."""
    if is_scratch(path):
        return False
    return bool(_SYSTEM.match(path) or _HOME_SETTINGS.search(path) or _CLIMBS.search(path))


def is_key(path: str) -> bool:
    """Holds nothing but credentials."""
    return _KEY.search(path[-_MAX_CHARS:]) is not None


def is_private(path: str) -> bool:
    """Holds what should not leave the machine."""
    return _PRIVATE.search(path[-_MAX_CHARS:]) is not None
