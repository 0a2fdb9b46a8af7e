"""Accounts: configured tokens, tokens of an identity provider, the page's login. No request is seen here."""
