"""Calls by which programs take a password or a key: positional arguments, and how strings become keys."""

from typing import Final

from server.policy.redaction.forms.checks import (
    Form,
    Q,
    always,
    has_number,
    is_given,
    is_odd,
    is_password,
    is_value,
)
from server.policy.redaction.plausible import is_random

_KEYED: Final = rf"\(\s*[bru]?{Q}(?P<s>[^\"'`\s]{{16,256}}){Q}"
CALLS: Final[tuple[Form, ...]] = (
    *(("key_argument", f"({quote}http", rf"\({quote}https?://[^{quote}\n]{{4,200}}{quote}, ?{quote}(?P<s>(?=[\w.-]*\d)[\w.-]{{16,256}}){quote}", is_random) for quote in "\"'"),
    ("basic_auth", "user.info=", r"user\.info=[^:\s]{1,128}:(?P<s>[^\s\"']{8,256})", is_value),
    *(("database_key", f"{word} key", rf"{word} (?:hexre|re)?key ?= ?[\"'](?P<s>[^\"'\n]{{4,256}})[\"']", is_value) for word in ("PRAGMA", "pragma")),
    ("secure_string_piped", "| ConvertTo-SecureString", r"\| ConvertTo-SecureString", always),
    # calls by which programs take a password
    ("wallet_key", "Wallet(", r"Wallet\(\s*[\"'](?P<s>(?:0x)?[a-fA-F0-9]{64})[\"']", always),
    ("key_argument", "hex2bin(", r"hex2bin\([\"'](?P<s>[a-fA-F0-9]{32,128})[\"']", always),
    ("login", "SET_WALLET(", r"SET_WALLET\('[^'\n]{1,200}', ?'(?P<s>[^'\n]{4,128})'", is_value),
    ("login", "rotect \"", r"rotect \"(?P<s>[^\"\n]{4,64})\"", is_value),
    ("login", "login(qw(", r"login\(qw\(\S{1,64} (?P<s>[^\s()]{4,64})\)", always),
    ("basic_auth", ":basic, ", r":basic, [\"'][^\"'\n]{1,64}[\"'], ?[\"'](?P<s>[^\"'\n]{4,128})[\"']", is_value),
    ("basic_auth", "asic_auth({", r"asic_auth\(\{[\"'][^\"'\n]{1,64}[\"'] ?=> ?[\"'](?P<s>[^\"'\n]{4,128})[\"']", is_value),
    ("char_array", ".toCharArray(", r"\.toCharArray\(", always),
    *(("basic_auth", word, rf"{word}(?:\(|\s)\s*b?{Q}[\w.@-]{{1,64}}:(?P<s>[^\"'`\n]{{4,128}}){Q}", is_value) for word in ("ase64Encode", "btoa", "b64encode", "encode64", "ase64_encode", "encodeToString")),
    ("login", "ifi(", rf"ifi\({Q}[^\"'`\n]{{1,64}}{Q}, ?{Q}(?P<s>[^\"'`\n]{{8,64}}){Q}", is_value),
    ("bearer", "earer_auth(", rf"earer_auth\(\s*{Q}(?P<s>[^\"'`\s]{{8,512}}){Q}", is_value),
    ("basic_auth", "asicAuth(", rf"asicAuth\(\s*{Q}[^\"'`]{{1,128}}{Q}\s*,\s*{Q}(?P<s>[^\"'`]{{4,256}}){Q}", is_value),
    ("basic_auth", "asic_auth(", rf"asic_auth\(\s*{Q}[^\"'`]{{1,128}}{Q}\s*,\s*(?:Some\()?{Q}(?P<s>[^\"'`]{{4,256}}){Q}", is_value),
    ("basic_auth", "auth = (", rf"auth = \(\s*{Q}[^\"'`]{{1,128}}{Q}\s*,\s*{Q}(?P<s>[^\"'`]{{4,256}}){Q}", is_value),
    ("basic_auth", "auth=(", rf"auth=\(\s*{Q}[^\"'`]{{1,128}}{Q}\s*,\s*{Q}(?P<s>[^\"'`]{{4,256}}){Q}", is_value),
    ("login", "login(", rf"login\(\s*{Q}[^\"'`]{{1,128}}{Q}\s*,\s*{Q}(?P<s>[^\"'`]{{4,256}}){Q}\s*\)", is_given),
    ("login", "login(", rf"login\(\s*{Q}[^\"'`]{{1,128}}{Q}\s*,\s*{Q}(?P<s>[^\"'`]{{4,256}}){Q}", has_number),
    ("login", "auth(", rf"auth\(\s*{Q}[^\"'`]{{1,128}}{Q}\s*,\s*{Q}(?P<s>[^\"'`]{{4,256}}){Q}", has_number),
    *(("login", f"redentials{call}(", rf"redentials{call}\(\s*{Q}[^\"'`]{{1,128}}{Q}(?:\.\w+\(\))?\s*,\s*{Q}(?P<s>[^\"'`\n]{{4,256}}){Q}", is_password) for call in ("", "::new", ".new", "::from_keys")),
    ("login", "__construct(", rf"__construct\((?:{Q}[^\"'`\n]{{1,128}}{Q}, ?){{2}}{Q}(?P<s>[^\"'`\n]{{4,256}}){Q}", is_password),
    ("login", "ftp_login(", rf"ftp_login\([^,()\n]{{1,80}}, ?{Q}[^\"'`\n]{{1,128}}{Q}, ?{Q}(?P<s>[^\"'`\n]{{4,256}}){Q}", is_value),
    ("login", ".connect(", rf"\.connect\({Q}[\w .@-]{{1,64}}{Q}, ?{Q}(?P<s>[^\"'`\n]{{8,64}}){Q}", is_password),
    ("key_argument", "sign(", rf"(?<=[^\w])sign\(\w{{1,32}}, ?{Q}(?P<s>[^\"'`\s]{{8,256}}){Q}", is_odd),
    ("login", "redentials(", rf"redentials\(\s*{Q}[^\"'`]{{1,128}}{Q}\s*,\s*{Q}(?P<s>[^\"'`]{{4,256}}){Q}", has_number),
    ("secure_string", "ConvertTo-SecureString", rf"ConvertTo-SecureString\s+(?:-String\s+|-AsPlainText\s+|-Force\s+)*{Q}?(?P<s>[^\"'`\s]{{4,256}})", is_value),
    ("credential", "NetworkCredential(", rf"NetworkCredential\(\s*{Q}[^\"'`]{{1,128}}{Q}\s*,\s*{Q}(?P<s>[^\"'`]{{4,256}}){Q}", is_value),
    # what a program is built or signed with
    ("key_argument", "Client(", rf"Client{_KEYED}", is_random),
    ("key_argument", "Fernet(", rf"Fernet{_KEYED}", is_random),
    ("key_argument", "hmac.new(", rf"hmac\.new{_KEYED}", is_random),
    ("key_argument", "AES.new(", rf"AES\.new{_KEYED}", is_random),
    ("key_argument", "Signer(", rf"Signer{_KEYED}", is_random),
    ("key_argument", "Serializer(", rf"Serializer{_KEYED}", is_random),
    ("key_argument", "Bot(", rf"Bot{_KEYED}", is_random),
    # positional arguments that are passwords
    *(("login", f"{call}(", rf"{call}\((?:[^,()\n]{{1,120}}, ?){{2,3}}{Q}(?P<s>[^\"'`\s]{{4,256}}){Q}", check) for call, check in (("getConnection", is_given), ("onnect", is_password), ("mysqli", is_given), ("mysqli_connect", is_given), ("PDO", is_given), ("oci_connect", is_given))),
    *(("key_argument", f"{call}(", rf"{call}\((?:\s*{Q}[^\"'`\n]{{1,200}}{Q},){{1,3}}\s*{Q}(?P<s>[^\"'`\s]{{16,256}}){Q}", is_random) for call in ("Client", "Minio", "Session", "Auth")),
    *(("key_argument", f"{call}(", rf"{call}\([^()\n]{{1,120}}?, ?'(?P<s>[^'\n]{{4,128}})'", is_given) for call in ("pgp_sym_encrypt", "pgp_sym_decrypt", "aes_encrypt", "aes_decrypt")),
    *(("login", f"{call}(", rf"{call}\(\s*{Q}[^\"'`\n]{{1,128}}{Q}\s*,\s*{Q}(?P<s>[^\"'`\n]{{6,256}}){Q}", is_odd) for call in ("redentials.basic", "WiFi.begin", "iFi.begin", "setCredentials")),
    *(("login", f"{call}(", rf"{call}\(\s*{Q}[^\"'`\n]{{1,128}}{Q}\s*,\s*{Q}(?P<s>[^\"'`\n]{{6,256}}){Q}", is_given) for call in ("createCipher", "createCipheriv", "createDecipheriv")),
    ("key_argument", "cookieParser(", rf"cookieParser\(\s*{Q}(?P<s>[^\"'`\n]{{6,256}}){Q}", is_value),
    ("key_argument", "signWith(", rf"signWith\((?:[^,()\n]{{1,80}}, ?)?{Q}(?P<s>[^\"'`\s]{{8,256}}){Q}", is_value),
    ("login", ".equals(", rf"(?i:(?<=pwd)|(?<=pass)|(?<=password)|(?<=passwd)|(?<=secret)|(?<=token))\.equals\({Q}(?P<s>[^\"'`\n]{{4,128}}){Q}", is_odd),
    ("key_argument", "createHmac(", rf"createHmac\(\s*{Q}[\w-]+{Q}\s*,\s*{Q}(?P<s>[^\"'`\s]{{6,256}}){Q}", is_value),
    # the last of what a program logs in with
    *(("login", f"{call}(", rf"{call}\([^()\n]{{0,120}}?{Q}(?P<s>[^\"'`\n]{{4,128}}){Q}\s*\)", is_given) for call in ("username_pw_set", "simple_bind_s", "simple_bind", "ldap_bind", "AuthProvider", "requirepass")),
    ("login", "auth(", rf"(?<=\.)auth\((?:\s*{Q}[^\"'`\n]{{1,64}}{Q}\s*,)?\s*{Q}(?P<s>[^\"'`\n]{{4,128}}){Q}\s*\)", is_given),
    ("key_argument", "jwt::", rf"(?i:jwt)::(?:en|de)code\([^\n\"'`]{{1,80}}?,\s*{Q}(?P<s>[^\"'`\s]{{6,256}}){Q}", is_value),
    ("key_argument", "jwt.", rf"jwt\.(?:sign|encode|decode|verify)\([^\n\"'`]{{1,80}}?,\s*{Q}(?P<s>[^\"'`\s]{{6,256}}){Q}", is_value),
)  # fmt: skip
