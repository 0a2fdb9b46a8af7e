"""The REST API: policy, audit log, approvals, process hooks (docs/rest.md)."""
