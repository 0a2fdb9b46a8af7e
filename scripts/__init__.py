"""What `make` calls: setting up, generating, checking."""
