"""Model calls: any OpenAI-compatible endpoint, or the embedded model."""
