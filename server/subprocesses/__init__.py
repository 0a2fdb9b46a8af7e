"""Child processes: started, known with all that came of them, ended; and one supervisor that starts again what ended."""
