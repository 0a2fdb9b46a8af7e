"""Parley: a voice-chat server whose agent is shaped by skills."""

__version__ = "0.1.0"
