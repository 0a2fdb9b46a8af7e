"""What a turn that has ended leaves in metrics and log."""

import logging

from server.metrics import Metrics
from server.session.turn_writer import TurnWriter

logger = logging.getLogger(__name__)


def account(turn: TurnWriter, metrics: Metrics) -> None:
    times = turn.metrics
    assert times is not None, "the turn has ended"
    metrics.turns.labels(turn.reason).inc()
    metrics.hook_frames.inc(turn.hook_count)
    metrics.turn_total.observe(times.total / 1000)
    if times.first_token is not None:
        metrics.first_token.observe(times.first_token / 1000)
    if times.first_sentence is not None:
        metrics.first_sentence.observe(times.first_sentence / 1000)
    if times.first_audio is not None:
        metrics.first_audio.observe(times.first_audio / 1000)
    if times.transcript is not None:
        metrics.transcript.observe(times.transcript / 1000)
    logger.info(
        "turn %s %s in %.0f ms; first text after %s ms; tools: %s",
        turn.id,
        turn.reason,
        times.total,
        "–" if times.first_token is None else f"{times.first_token:.0f}",
        ", ".join(turn.tools) or "none",
    )
