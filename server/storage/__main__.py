"""`python -m server.storage audit verify`: the command of operators, which lives in clients/audit_check.py."""

import os
import sys

from clients.audit_check import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
