"""Arguments that only a payment has, or a code that only its owner can give."""

from typing import Final

from server.policy.danger.arguments.call import Call
from server.policy.danger.names.judge import only_looks

_AMOUNTS: Final = frozenset("amount sum total betrag value_eur eur usd quantity price".split())
_PAYEES: Final = frozenset(
    "iban bic payee beneficiary creditor wallet_address to_address recipient_address account_number to_account to_iban sort_code payout_account".split()
)
_CODES: Final = frozenset(
    "tan otp totp sms_code mfa_code 2fa_code one_time_code confirmation_code auth_code phototan pushtan smstan".split()
)
_NOT_PAYING: Final = frozenset(
    "validate check format parse convert log note add_expense expense draft template calculate lookup contact".split()
)


def by_payments(call: Call) -> str | None:
    if only_looks(call.tool) or not _NOT_PAYING.isdisjoint(call.words):
        return None
    named = {key.lower() for key, value in call.leaves if value not in (None, "")}
    if named & _PAYEES and named & _AMOUNTS:
        return "spends money"
    return "confirms in the user's name" if named & _CODES else None
