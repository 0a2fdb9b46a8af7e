"""What command lines would run."""
