"""Speech: microphone sound → utterances → words, and replies → sentences → sound."""
