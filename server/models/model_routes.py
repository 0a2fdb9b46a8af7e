"""`/api/model` and `/api/models`: which model answers, picking another one, and fetching one."""

from typing import Annotated, Final, Literal, TypeVar
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct

from server.errors import ConfigError, ProviderError
from server.gateway.rest.operation import ApiAnswer, ApiCall, Operation, Operations, Refusal
from server.gateway.routes import Access
from server.llm.embedded_process import MODEL_NAME
from server.models.found_servers import FoundServer
from server.models.model_choice import (
    EmbeddedChoice,
    EndpointAddress,
    EndpointChoice,
    FileChoice,
    ModelChoice,
    without_key,
)
from server.models.model_fetcher import FetchableModel, FetchBusy, ModelFetcher
from server.models.model_files import ModelFileError, suggest_model
from server.models.model_host import ModelHost, ModelMeasurement, PickRefused
from server.openai_client import is_loopback_name
from server.storage.audit_log import AuditLog
from server.wire.frames import ModelItem

PATH: Final = "/api/model"
DOWNLOAD_PATH: Final = "/api/models/download"
_OPERATIONS: Final = Operations(max_body_bytes=16 << 10, access=Access.OPERATOR)

Choice = TypeVar("Choice", bound=Struct)


class ModelOption(Struct, frozen=True, kw_only=True):
    """A model that can be picked; a PUT takes its `kind`, with `base_url` and `model`, or the file's `name`."""

    kind: Literal["embedded", "endpoint", "file"]
    name: str
    server: str | None = None
    """Program or address that serves the model, or null if the server itself runs it."""
    base_url: str | None = None
    is_on_this_machine: bool = True
    is_current: bool = False
    has_key: bool = False
    """Whether a key is kept for the model, which a PUT of the same `base_url` without `api_key` uses again."""
    measured: ModelMeasurement | None = None
    """Results of its last test, if there was one since the server was started."""


class ModelPicker(Struct, frozen=True, kw_only=True):
    model: ModelItem
    problem: str
    """The reason why that model cannot answer now, or ""."""
    decided_by: str | None
    """The setting or variable because of which none can be picked, if there is one."""
    options: list[ModelOption]


class ModelNames(Struct, frozen=True):
    names: list[str]


class FetchableModels(Struct, frozen=True, kw_only=True):
    models: list[FetchableModel]
    free_memory_bytes: int
    """Memory of this machine that was free when the server started."""
    suggested: str | None
    """Name of the model that runs well in that memory, if there is one."""


class FetchRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: Annotated[str, Meta(max_length=256)]


class ModelRoutes:
    """The model of the whole server, shown to operators, picked and fetched by them."""

    def __init__(self, models: ModelHost, fetcher: ModelFetcher, audit: AuditLog, *, free_memory_bytes: int) -> None:
        self._free_memory_bytes = free_memory_bytes
        self._models = models
        self._fetcher = fetcher
        self._audit = audit

    def operations(self) -> tuple[Operation, ...]:
        return _OPERATIONS.of(self)

    @_OPERATIONS.add("GET", PATH, ModelPicker)
    async def _show(self, _call: ApiCall) -> ApiAnswer:
        """Show the model that answers, and the models that can be picked, with those found on this machine."""
        return ApiAnswer(await self._picker())

    @_OPERATIONS.add("PUT", PATH, ModelPicker, body=(EmbeddedChoice, EndpointChoice, FileChoice), refusals=(409, 422))
    async def _pick(self, call: ApiCall) -> ApiAnswer:
        """Test a model, and let it answer everybody from the next turn on."""
        body: ModelChoice = await call.body(ModelChoice, code="model_invalid")  # type: ignore[arg-type]  # a union
        choice = self._with_kept_key(body)
        try:
            await self._models.pick(choice)
        except PickRefused as error:
            raise Refusal(409, error.code, str(error)) from None
        except (ProviderError, ConfigError) as error:
            raise Refusal(422, error.code, str(error)) from None
        named = {key: value for key, value in msgspec.to_builtins(choice).items() if key != "api_key"}
        self._audit.append(call.entry("model", "picked", details=named))
        return ApiAnswer(await self._picker())

    @_OPERATIONS.add("POST", f"{PATH}/names", ModelNames, body=(EndpointAddress,), refusals=(422,))
    async def _list(self, call: ApiCall) -> ApiAnswer:
        """List the names of the models for chat at an endpoint."""
        address = self._with_kept_key(await call.body(EndpointAddress, code="model_invalid"))
        try:
            return ApiAnswer(ModelNames(await self._models.list_models(address.base_url, address.api_key)))
        except ProviderError as error:
            raise Refusal(422, error.code, str(error)) from None

    @_OPERATIONS.add("GET", "/api/models", FetchableModels)
    async def _show_fetchable(self, _call: ApiCall) -> ApiAnswer:
        """List recommended models, and how far their download is."""
        models, free_bytes = await self._fetcher.models(), self._free_memory_bytes
        return ApiAnswer(
            FetchableModels(models=models, free_memory_bytes=free_bytes, suggested=suggest_model(free_bytes))
        )

    @_OPERATIONS.add("POST", DOWNLOAD_PATH, FetchableModels, body=(FetchRequest,), refusals=(409, 422))
    async def _fetch(self, call: ApiCall) -> ApiAnswer:
        """Begin or continue to download a recommended model."""
        asked = await call.body(FetchRequest, code="model_invalid")
        if self._models.decided_by is not None:
            cure = "remove it to fetch and pick one here"
            raise Refusal(409, PickRefused.code, f"{self._models.decided_by} decides which model answers; {cure}")
        try:
            model = self._fetcher.start(asked.name)
        except ModelFileError as error:
            raise Refusal(409 if isinstance(error, FetchBusy) else 422, error.code, str(error)) from None
        self._audit.append(call.entry("model", "download", details={"name": model.name}))
        return await self._show_fetchable(call)

    @_OPERATIONS.add("DELETE", DOWNLOAD_PATH, FetchableModels)
    async def _stop_fetching(self, call: ApiCall) -> ApiAnswer:
        """Stop the download; what has come is kept."""
        await self._fetcher.stop()
        return await self._show_fetchable(call)

    def _with_kept_key(self, choice: Choice) -> Choice:
        match choice, self._models.choice:
            case EndpointAddress(base_url=url, api_key=None), EndpointChoice(base_url=kept, api_key=key) if url == kept:
                return msgspec.structs.replace(choice, api_key=key)
        return choice

    async def _picker(self) -> ModelPicker:
        decided_by = self._models.decided_by
        servers, files = await self._models.find(), await self._models.files()
        options = self._options(servers, files) if decided_by is None else []
        item = msgspec.convert(self._models.info, ModelItem, from_attributes=True)
        problem = await self._models.problem()
        return ModelPicker(model=item, problem=problem, decided_by=decided_by, options=options)

    def _options(self, servers: list[FoundServer], files: list[str]) -> list[ModelOption]:
        """Return the embedded model, files, models that were found and the picked one, each once."""
        offered: dict[ModelChoice, FoundServer | None] = dict.fromkeys((EmbeddedChoice(), *map(FileChoice, files)))
        for server in servers:
            offered |= {EndpointChoice(base_url=server.base_url, model=name): server for name in server.models}
        offered.setdefault(without_key(self._models.choice), None)
        return [self._option(choice, server) for choice, server in offered.items()]

    def _option(self, choice: ModelChoice, server: FoundServer | None) -> ModelOption:
        picked = self._models.choice
        is_current = choice == without_key(picked)
        measured = self._models.measured(choice)
        match choice:
            case EmbeddedChoice():
                return ModelOption(kind="embedded", name=MODEL_NAME, is_current=is_current, measured=measured)
            case FileChoice(name=name):
                return ModelOption(kind="file", name=name, is_current=is_current, measured=measured)
            case EndpointChoice(base_url=base_url, model=model):
                hostname = urlsplit(base_url).hostname or ""
                return ModelOption(
                    kind="endpoint",
                    name=model,
                    server=server.name if server else urlsplit(base_url).netloc,
                    base_url=base_url,
                    is_on_this_machine=is_loopback_name(hostname),
                    has_key=is_current and isinstance(picked, EndpointChoice) and picked.api_key is not None,
                    is_current=is_current,
                    measured=measured,
                )
