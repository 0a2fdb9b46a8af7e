"""`python -m server.models`: the command that lists and fetches models, which lives in clients/models.py."""

import os
import sys

from clients.models import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
