"""`python -m server.talk`: the command-line client, which lives in clients/talk."""

import sys

from clients.talk.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
