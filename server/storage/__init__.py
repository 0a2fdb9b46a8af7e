"""What outlives the process: policy documents, the audit log, remembered approvals. SQLite, or PostgreSQL for replicas."""
