"""Model calls that an endpoint refuses for a while: a real client, and the server that plays the endpoint."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from server import config
from server.agent.agent_client import TurnOptions
from server.errors import ProviderRateLimited
from server.hooks.layers import TurnLayers
from server.llm.client import OpenAICompatible
from server.llm.endpoint import ModelEndpoint
from tests.agent.scene import agent_for, play
from tests.hooks.fakes import FACTS, FakeHook
from tests.support.openai_faults import http_error
from tests.support.openai_script import text
from tests.support.openai_server import OpenAIServer


@pytest_asyncio.fixture
async def endpoint() -> AsyncIterator[OpenAIServer]:
    async with OpenAIServer() as server:
        yield server


@pytest_asyncio.fixture
async def model(endpoint: OpenAIServer) -> AsyncIterator[OpenAICompatible]:
    model = OpenAICompatible(ModelEndpoint(base_url=endpoint.url, model="m"))
    yield model
    await model.aclose()


@pytest.mark.parametrize("status", [408, 429, 500, 503, 504, 529])
async def test_a_call_is_made_again_when_the_endpoint_wants_it(
    endpoint: OpenAIServer, model: OpenAICompatible, status: int
) -> None:
    observer = FakeHook("observer", settings=config.ProcessHookSettings(observe=["llm_retry"]))
    options = TurnOptions(layers=TurnLayers(facts=FACTS, hooks=[observer]))
    endpoint.queue(http_error(status, retry_after="0.04"), http_error(status, retry_after="0.01"), text("Noon."))

    await play(agent_for(model), enable_tools=False, options=options)

    assert [event["payload"]["Backoff"] for _, event in observer.told] == [40_000_000, 10_000_000]
    assert len(endpoint.requests) == 3


async def test_a_wait_that_is_too_long_is_left_to_the_client(endpoint: OpenAIServer, model: OpenAICompatible) -> None:
    endpoint.queue(http_error(429, retry_after="6"))

    with pytest.raises(ProviderRateLimited, match="try again in 6 s") as caught:
        await play(agent_for(model), enable_tools=False)

    assert (caught.value.retry_after_ms, len(endpoint.requests)) == (6000, 1)
