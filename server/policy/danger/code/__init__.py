"""What programs as text would do."""
