"""Bounds on what grows: how often something may happen, and how many places work may take."""
