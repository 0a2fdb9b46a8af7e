"""Process hooks and tool policy: who may rewrite a model call, and what a tool call has to pass."""
