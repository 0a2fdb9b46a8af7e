"""Keys of an identity provider that exists for the tests alone, and the tokens it makes."""

import json
import time
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

ELLIPTIC = ec.generate_private_key(ec.SECP256R1())
OTHER = ec.generate_private_key(ec.SECP256R1())
RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
SECRET = "a secret that the provider and we share"

Private = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


def pem(key: Private) -> str:
    public = key.public_key()
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return public.public_bytes(serialization.Encoding.PEM, form).decode()


def jwk(key: Private, kid: str, **more: Any) -> dict[str, Any]:
    made = ECAlgorithm.to_jwk(key.public_key()) if isinstance(key, ec.EllipticCurvePrivateKey) else _rsa_jwk(key)
    return {**json.loads(made), "kid": kid, **more}


def _rsa_jwk(key: rsa.RSAPrivateKey) -> str:
    return RSAAlgorithm.to_jwk(key.public_key())


def token(
    key: Private | str = ELLIPTIC, algorithm: str = "ES256", *, headers: dict[str, Any] | None = None, **claims: Any
) -> str:
    """Good for a minute; a claim that is None is left out."""
    given = {"sub": "anna", "exp": time.time() + 60, **claims}
    return jwt.encode({k: v for k, v in given.items() if v is not None}, key, algorithm, headers)
