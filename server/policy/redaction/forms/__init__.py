"""Forms of credentials as data: what they begin with, what follows, what else has to hold. `rules/forms.py` reads them."""
