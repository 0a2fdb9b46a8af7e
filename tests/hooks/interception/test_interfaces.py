"""What hooks of this process may implement."""

from server.hooks.channel import STAGES
from server.hooks.interception.interfaces import Approver, LlmInterceptor, Observer, ToolInterceptor


def test_each_stage_and_the_events_have_one_method_of_their_name() -> None:
    methods = [
        name
        for protocol in (Observer, LlmInterceptor, ToolInterceptor, Approver)
        for name in vars(protocol)
        if not name.startswith("_")
    ]

    assert sorted(methods) == sorted([*STAGES, "on_event"])
