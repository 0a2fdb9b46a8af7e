"""The model that answers the whole server: loaded until it is there, and replaced when an operator picks another."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from server.bounded.limits import BoundedDict
from server.config import LlmSettings
from server.errors import ConfigError, ProviderProtocol, ProviderTimeout, ServerError, log_failure
from server.llm.client import OpenAICompatible
from server.llm.embedded import EmbeddedModel
from server.llm.endpoint import endpoint_named_by, endpoint_of, endpoint_of_choice, model_named_by
from server.llm.language_model import (
    LanguageModel,
    Message,
    ModelInfo,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolSpec,
)
from server.models.file_model import FileModel
from server.models.found_servers import FoundServer, find_servers, places_to_look
from server.models.model_choice import EmbeddedChoice, EndpointChoice, FileChoice, ModelChoice, save_choice, without_key

logger = logging.getLogger(__name__)

_WORD_LIMIT_S: Final = 60.0
_TOOL_LIMIT_S: Final = 30.0
MAX_REPLACED: Final = 3
"""Limit of models that are kept for turns which began with them."""
MODELS_FOLDER: Final = "models"
"""Name of the folder with model files, in the data folder."""
_MAX_FILES: Final = 50
_MAX_MEASUREMENTS: Final = 64
_MAX_EVENTS: Final = 500
"""Pieces of a reply after which a model that has called no tool is taken to call none."""
_FOUND_FOR_S: Final = 2.0
_RETRY_FROM_S: Final = 2.0
_RETRY_TO_S: Final = 60.0
_QUESTION: Final = "What time is it? Use the tool."
_CLOCK: Final = ToolSpec(
    name="current_time", description="Tells the time.", parameters={"type": "object", "properties": {}}
)


class PickRefused(ServerError):
    """No model can be picked, now or at all; the text has the reason."""

    code = "model_fixed"


class PickBusy(PickRefused):
    """Error of a pick while another pick has to end first."""

    code = "model_busy"


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelMeasurement:
    """Results of a test of a model."""

    first_token_ms: float
    calls_tools: bool | None
    """Whether the model called a tool, or None if the time was up before."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelEvents:
    """Calls out of a `ModelHost`."""

    on_state: Callable[[Literal["ready", "failed"], str], None]
    """Callback for when the model that answers is ready, with its name, or could not be loaded, with the reason."""
    on_info: Callable[[], None]
    """Callback for when another model answers, or its name became known."""
    warm_up: Callable[[LanguageModel], Awaitable[list[Message]]]
    """Callback that lets a model on this machine read what every turn begins with, and returns it."""
    use: Callable[[LanguageModel], asyncio.Event]
    """Callback to answer with this model from the next turn on; its event is set when no turn uses the one before."""


class ModelHost:
    """Owner of every model of the server. Settings and environment override the choice."""

    def __init__(
        self,
        config: LlmSettings,
        environ: Mapping[str, str],
        data_dir: Path,
        *,
        model: LanguageModel,
        choice: ModelChoice | None,
        is_replica: bool,
        events: ModelEvents,
    ) -> None:
        self.choice = choice or EmbeddedChoice()
        self.decided_by = model_named_by(config, environ) or ("storage.url" if is_replica else None)
        """The setting or variable, if any, because of which no model can be picked."""
        self._is_default = choice is None and self.decided_by is None
        self._config = config
        self._environ = environ
        self._data_dir = data_dir
        self._folder = data_dir / MODELS_FOLDER
        self._model = model
        self._events = events
        self._own_url = ""
        self._loading: asyncio.Task[None] | None = None
        self._picking = asyncio.Lock()
        self._looking = asyncio.Lock()
        self._found: list[FoundServer] = []
        self._found_until_s = 0.0  # loop time
        self._measured = BoundedDict[ModelChoice, ModelMeasurement](_MAX_MEASUREMENTS)
        self._replaced: set[asyncio.Task[None]] = set()

    @property
    def info(self) -> ModelInfo:
        return self._model.info

    def start(self, own_url: str) -> None:
        """Begin to load the model. `own_url`: where this server listens, which is no model server."""
        self._own_url = own_url
        self._loading = asyncio.create_task(self._load(), name="model start")  # `aclose` awaits it
        self._loading.add_done_callback(log_failure)

    async def aclose(self) -> None:
        """Close the model, and those that are kept for turns."""
        tasks = [*self._replaced, *([self._loading] if self._loading else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._model.aclose()

    async def find(self) -> list[FoundServer]:
        """Look for model servers; what was found is good for two seconds. Nothing is asked where none could be picked."""
        loop = asyncio.get_running_loop()
        async with self._looking:
            if self.decided_by is None and loop.time() >= self._found_until_s:
                self._found = await find_servers(places_to_look(self._config, self._own_url))
                self._found_until_s = loop.time() + _FOUND_FOR_S
            return self._found

    async def list_models(self, base_url: str, api_key: str | None) -> list[str]:
        """Return the names of the models for chat at this address. Raises ProviderError."""
        endpoint = endpoint_of_choice(self._config, base_url=base_url, model=None, api_key=api_key)
        async with aclosing(OpenAICompatible(endpoint)) as server:
            return await server.names()

    async def files(self) -> list[str]:
        """Return the names of the model files in the data folder."""
        return await asyncio.to_thread(
            lambda: sorted(path.name for path in self._folder.glob("[!.]*.gguf"))[:_MAX_FILES]
        )

    async def problem(self) -> str:
        return await self._model.problem()

    async def offer(self) -> FoundServer | None:
        """Return the first server that is found, while the embedded model answers because nothing was set or picked."""
        servers = await self.find() if self._is_default else []
        return servers[0] if servers else None

    def measured(self, choice: ModelChoice) -> ModelMeasurement | None:
        """Return what its last test has shown; whatever its key was."""
        return self._measured.get(without_key(choice))

    async def pick(self, choice: ModelChoice) -> None:
        """Test this model, keep the choice, and answer with it from the next turn on; running turns keep theirs.

        Raises PickRefused where none can be picked now, ProviderError where the test fails,
        ConfigError where the choice cannot be kept. Then everything stays as it was.
        """
        if self.decided_by is not None:
            raise PickRefused(f"{self.decided_by} decides which model answers; remove it to pick one here")
        if self._picking.locked():
            raise PickBusy("another model is being tested; try again when that is done")
        if len(self._replaced) >= MAX_REPLACED:
            raise PickBusy("turns still use the models that were picked before; try again when they have ended")
        async with self._picking:
            is_new = choice != self.choice
            model = (
                create_model(self._config, self._environ, choice, models_dir=self._folder) if is_new else self._model
            )
            try:
                if is_new:
                    await model.start()
                measured = await measure(model, await self._events.warm_up(model))
                await asyncio.to_thread(self._save, choice)
            except BaseException:
                if is_new:
                    await model.aclose()
                raise
            self._measured[without_key(choice)] = measured
            self._is_default = False
            if is_new:
                self._replace(model, choice)

    def _save(self, choice: ModelChoice) -> None:
        try:
            save_choice(self._data_dir, choice)
        except OSError as error:
            raise ConfigError(f"the choice cannot be written to {self._data_dir}: {error.strerror}") from error

    def _replace(self, model: LanguageModel, choice: ModelChoice) -> None:
        if self._loading is not None:
            self._loading.cancel()
        before, self._model, self.choice = self._model, model, choice
        unused = self._events.use(model)
        closing = asyncio.create_task(_close_when(unused, before), name="replaced model")  # `aclose` awaits it
        self._replaced.add(closing)
        closing.add_done_callback(self._replaced.discard)
        closing.add_done_callback(log_failure)
        logger.info("%s at %s answers from now on", model.info.name, model.info.host)
        self._events.on_state("ready", model.info.name)
        self._events.on_info()

    async def _load(self) -> None:
        """Try until the model is loaded once. A turn that comes meanwhile waits; after a failure it is told why."""
        model, wait_s, told = self._model, _RETRY_FROM_S, self._model.info
        while True:
            try:
                await model.start()
                await self._events.warm_up(model)
            except Exception as error:  # the boundary to an engine: the page and the next try live on
                logger.warning("the model is not ready: %s", error, exc_info=logger.isEnabledFor(logging.DEBUG))
                self._events.on_state("failed", str(error))
                await asyncio.sleep(wait_s)
                wait_s = min(_RETRY_TO_S, 2 * wait_s)
            else:
                self._events.on_state("ready", model.info.name)
                if model.info != told:
                    self._events.on_info()
                return


def create_model(
    config: LlmSettings,
    environ: Mapping[str, str],
    choice: ModelChoice | None = None,
    *,
    models_dir: Path = Path("models"),
) -> OpenAICompatible | EmbeddedModel | FileModel:
    """Return the model that settings or environment decide, else the chosen one, else the embedded one.

    Has no effects. Raises ConfigError for an invalid base URL.
    """
    if model_named_by(config, environ) is None:
        match choice:
            case EndpointChoice(base_url=url, model=model, api_key=key):
                return OpenAICompatible(endpoint_of_choice(config, base_url=url, model=model, api_key=key))
            case FileChoice(name):
                return FileModel(config, models_dir / name)
            case _:
                return EmbeddedModel(config)
    return EmbeddedModel(config) if config.provider == "embedded" else OpenAICompatible(endpoint_of(config, environ))


def unused_model_warning(config: LlmSettings, environ: Mapping[str, str]) -> str | None:
    """Return a sentence for the operator who names a model, but neither an endpoint nor a key: it is not used."""
    source, name = ("llm.model", config.model) if config.model else ("OPENAI_MODEL", environ.get("OPENAI_MODEL"))
    if not name or config.provider != "auto" or endpoint_named_by(config, environ):
        return None
    return f"{source} names {name}, but the embedded model answers: set OPENAI_API_KEY or OPENAI_BASE_URL, too"


async def measure(model: LanguageModel, beginning: list[Message]) -> ModelMeasurement:
    """Ask the model twice: whether it calls a tool, which also makes its server load it, and how soon it answers.

    `beginning`: the messages with which every turn begins. Raises ProviderError.
    """
    calls_tools = await _calls_tools(model)
    try:
        async with asyncio.timeout(_WORD_LIMIT_S):
            return ModelMeasurement(first_token_ms=await _first_token_ms(model, beginning), calls_tools=calls_tools)
    except TimeoutError as error:
        raise ProviderTimeout(f"{model.info.host} did not answer a greeting within {_WORD_LIMIT_S:g} s") from error


async def _calls_tools(model: LanguageModel) -> bool | None:
    messages = [{"role": "user", "content": _QUESTION}]
    request = ModelRequest(messages=messages, tools=[_CLOCK], tool_names=[_CLOCK.name], question=_QUESTION)
    try:
        async with asyncio.timeout(_TOOL_LIMIT_S), aclosing(model.stream(request)) as events:
            left = _MAX_EVENTS
            async for event in events:
                if isinstance(event, ToolCall):
                    return True
                if (left := left - 1) == 0:
                    break
    except ProviderProtocol as error:  # so servers refuse tools for a model that knows none
        logger.info("%s refused a request with a tool: %s", model.info.host, error)
    except (TimeoutError, ProviderTimeout):
        return None
    return False


async def _first_token_ms(model: LanguageModel, beginning: list[Message]) -> float:
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    request = ModelRequest(messages=[*beginning, {"role": "user", "content": "Hello"}], question="Hello")
    async with aclosing(model.stream(request)) as events:
        async for event in events:
            if isinstance(event, TextDelta | ReasoningDelta):
                return round((loop.time() - began_s) * 1000, 1)
    raise ProviderProtocol(f"{model.info.host} answered a greeting without a word")


async def _close_when(unused: asyncio.Event, model: LanguageModel) -> None:
    try:
        await unused.wait()
    finally:
        await model.aclose()
