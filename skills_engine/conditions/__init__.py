"""When a hook fires: conditions, state, groups, budget and variables (L1-40 to L1-48). Pure."""
