"""The handlers of the tool policy."""
