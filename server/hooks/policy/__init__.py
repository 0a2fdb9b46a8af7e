"""The tool policy's public names, as custom handlers import them; the policy itself lives in server/policy."""
