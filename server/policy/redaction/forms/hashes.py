"""Hashes of passwords, and passwords that a program encrypted: crypt(5), PHC strings, what servers store."""

from typing import Final

from server.policy.redaction.forms.checks import Form, always
from server.policy.redaction.plausible import is_random

HASHES: Final[tuple[Form, ...]] = (
    ("rpcauth", "rpcauth=", r"rpcauth=[^\s:]{1,64}:(?P<s>[a-f0-9]{16,64}\$[a-f0-9]{64})", always),
    ("encrypted_password", ">{", r">(?P<s>\{[A-Za-z0-9+/]{20,512}={0,2}\})</", always),  # maven.apache.org, password encryption
    ("zookeeper_digest", "digest,'", r"digest,'[^:\s]{1,64}:(?P<s>[A-Za-z0-9+/]{20,64}={0,2})", always),
    ("encrypted_password", " ENC ", r" ENC (?P<s>[A-Za-z0-9+/]{16,256}={0,2})(?=\s|\Z)", is_random),
    ("encrypted_password", "%^%#", r"%\^%#(?P<s>.{8,128}?)%\^%#", always),
    # crypt(5), PHC strings, Django, LDAP
    ("password_hash", "$", r"\$(?:2[abxy]?|A|M|sha256|sha512|apr1|argon2(?:id|i|d)|[156y]|gy|sha1|md5|scrypt|7|s0|s2|pbkdf2(?:-sha\d+)?|bcrypt-sha256|P|H|S|8|9|14)\$[^\s:\"';|<>]{16,400}", always),
    ("password_hash", "pbkdf2_sha", r"pbkdf2_sha\d+\$\d+\$[\w+/=.$-]{16,300}", always),
    ("password_hash", "SHA}", r"SHA\d{0,3}}[A-Za-z0-9+/]{16,200}={0,2}", always),
    ("password_hash", "{SSHA", r"\{SSHA\d{0,3}\}[A-Za-z0-9+/]{16,200}={0,2}", always),
    ("password_hash", "-pbkdf2-", r"-pbkdf2(?:[:-]\w{2,8}){0,4}-[a-f0-9]{40,128},[a-f0-9]{16,64},\d+", always),
    *(("password_hash", f"{lead}*", r".{1,2}?\*[A-F0-9]{40}(?![A-Za-z0-9])", always) for lead in ("'", '"', "\t", "| ")),  # MySQL, mysql_native_password
    ("smb_hash", ":LCT-", r":LCT-", always),  # smbpasswd(5)
    ("password_hash", "SCRAM-SHA-", r"SCRAM-SHA-\d+\$[\w+/=:$]{30,400}", always),
    ("password_hash", "$krb5", r"\$krb5\w{2,8}\$[^\s\"']{24,4000}", always),
    ("password_hash", "md5", r"(?<![A-Za-z0-9])md5[a-f0-9]{32}(?![A-Za-z0-9])", always),
    ("ntlm_hash", ":::", r":::", always),
)  # fmt: skip
