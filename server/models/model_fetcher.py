"""Downloads of recommended models by the server itself: one at a time, begun by an operator."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct

from server.models.model_download import ModelDownload, Progress
from server.models.model_files import RECOMMENDED, ModelFile, ModelFileError, ModelFolder, RecommendedModel, find_model

logger = logging.getLogger(__name__)

FetchState = Literal["absent", "partial", "downloading", "checking", "complete", "failed"]
_MAX_ERROR_CHARACTERS: Final = 500


class FetchBusy(ModelFileError):
    """Error of a fetch while another download has to end first."""

    code = "download_busy"


class FetchableModel(Struct, frozen=True, kw_only=True):
    """A recommended model, and how far its file is."""

    name: str
    """The file's name, as `PUT /api/model` takes it."""
    parameters: str
    licence: str
    url: str
    state: FetchState
    done_bytes: int
    total_bytes: int
    """Size of the file."""
    error: str | None = None
    """The reason why the last download failed, or why the one that runs had to try again."""


class ModelFetcher:
    """Owner of the download that runs, and of the error of the last one. Nothing begins without `start`."""

    def __init__(
        self, folder: ModelFolder, environ: Mapping[str, str], *, table: Sequence[RecommendedModel] = RECOMMENDED
    ) -> None:
        self._folder = folder
        self._table = table
        self._environ = environ
        self._task: asyncio.Task[None] | None = None
        self._name = ""
        self._progress: Progress | None = None
        self._error: str | None = None

    def start(self, name: str) -> RecommendedModel:
        """Begin, or continue, to fetch this model. Raises ModelFileError for an unknown one, FetchBusy during another."""
        if (model := find_model(name, self._table)) is None:
            raise ModelFileError("only a recommended model is fetched here; for others use `python -m server.models`")
        if self._is_running:
            raise FetchBusy(f"{self._name} is being downloaded; stop it first or wait for its end")
        self._name, self._progress, self._error = model.name, None, None
        self._task = asyncio.create_task(self._fetch(model), name="model download")  # `stop` awaits it
        return model

    @property
    def _is_running(self) -> bool:
        return self._task is not None and not self._task.done()

    async def stop(self) -> None:
        """End the download, if there is one; what has come is kept."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def models(self) -> list[FetchableModel]:
        files = {file.name: file for file in await asyncio.to_thread(self._folder.files)}
        return [self._fetchable(model, files.get(model.name)) for model in self._table]

    def _fetchable(self, model: RecommendedModel, file: ModelFile | None) -> FetchableModel:
        state: FetchState = "absent" if file is None else "complete" if file.is_complete else "partial"
        done_bytes, total_bytes = (file.size_bytes, file.total_bytes) if file else (0, model.size_bytes)
        error = None
        if model.name == self._name and self._is_running:
            progress = self._progress or Progress(stage="downloading", done_bytes=done_bytes, total_bytes=total_bytes)
            state, done_bytes, total_bytes = progress.stage, progress.done_bytes, progress.total_bytes
            error = progress.trouble or None
        elif model.name == self._name and self._error and state != "complete":
            state, error = "failed", self._error
        return FetchableModel(
            name=model.name,
            parameters=model.parameters,
            licence=model.licence,
            url=model.url(self._environ),
            state=state,
            done_bytes=done_bytes,
            total_bytes=total_bytes,
            error=error,
        )

    async def _fetch(self, model: RecommendedModel) -> None:
        try:
            download = ModelDownload(
                self._folder,
                model.url(self._environ),
                sha256=model.sha256,
                size_bytes=model.size_bytes,
                on_progress=self._set_progress,
            )
            sha256 = await download.run()
            logger.info("%s was downloaded (SHA-256 %s)", model.name, sha256)
        except ModelFileError as error:
            self._error = str(error)[:_MAX_ERROR_CHARACTERS]
            logger.warning("%s was not downloaded: %s", model.name, error)
        except Exception:  # the boundary of a task that is awaited when it is stopped only
            self._error = "an unexpected error; the server's log has the details"
            logger.exception("%s was not downloaded", model.name)

    def _set_progress(self, progress: Progress) -> None:
        self._progress = progress
