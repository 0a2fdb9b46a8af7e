"""Data that outlive the process: policy documents, the audit log, remembered approvals, questions between replicas. SQLite, or PostgreSQL for replicas."""
