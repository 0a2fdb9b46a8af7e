"""`python -m server.hooks test | replay`: the tools for authors of process hooks, which live in hook_tools."""

import os
import sys

from hook_tools.__main__ import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
