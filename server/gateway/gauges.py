"""Figures that other parts keep, and that /metrics asks for when it is read."""

from server.metrics import Metrics
from server.speech.vad import VoiceDetector
from server.storage.storage import Storage


def show_storage(metrics: Metrics, storage: Storage) -> None:
    database, audit = storage.database, storage.audit
    metrics.show("parley_storage_up", "1: the database served when it was last asked", lambda: database.is_up)
    metrics.show("parley_audit_queued", "Entries of the audit log to be written", lambda: audit.queued)
    metrics.show("parley_audit_lost", "Entries of the audit log lost since the start", lambda: audit.dropped)


def show_voice_detection(metrics: Metrics, detector: VoiceDetector) -> None:
    show = metrics.show
    show("parley_vad_windows", "Windows of 32 ms that voice detection has judged", lambda: detector.windows)
    show("parley_vad_skipped", "Of these, quieter than the energy floor", lambda: detector.skipped)
    show("parley_vad_refused", "Windows that came faster than they could be judged", lambda: detector.refused)
    show("parley_vad_busy_seconds", "CPU time of voice detection", lambda: detector.busy_s)
