"""`python -m server.models`: lists, fetches, deletes and chooses the models of this machine."""

import argparse
import asyncio
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from server.config import LlmSettings
from server.config_file import data_dir_of, load_config
from server.errors import ConfigError
from server.llm.endpoint import model_named_by
from server.models.gguf import NotAModel, read_header
from server.models.model_choice import EmbeddedChoice, FileChoice, load_choice, save_choice
from server.models.model_download import ModelDownload, Progress, sha256_of
from server.models.model_files import RECOMMENDED, ModelFile, ModelFileError, ModelFolder, find_model, gigabytes

_EMBEDDED: Final = "embedded"
_TERMINAL_S: Final = 0.2  # between two updates of the progress line
_LOG_PERCENT: Final = 10  # percent between two lines where the output is no terminal
_EPILOG = """\
get    fetches a recommended model, or a GGUF file by its address, and continues what was
       broken off. Without --sha256, the file must have the hash of its first download.
use    makes a model of this machine the one that answers, from the next start on;
       `use embedded` returns to the included one.
rm     deletes a model. Its hash stays pinned: NAME.gguf.sha256 in the folder.
Exit code 0: done; 1: something is wrong with the file or its source; 2: wrong usage or setting.
"""


def main(arguments: Sequence[str], environ: Mapping[str, str]) -> int:
    options = _parse(arguments)
    try:
        settings = load_config(options.config, environ)
        data_dir = data_dir_of(settings, environ)
        folder = ModelFolder(data_dir / "models")
        match options.action:
            case "get":
                asyncio.run(_get(folder, options.name, options.sha256, environ))
            case "use":
                _use(folder, data_dir, options.name, settings.llm, environ)
            case "rm":
                _remove(folder, data_dir, options.name)
            case _:
                _list(folder, data_dir, environ)
    except ConfigError as error:
        print(f"parley: {error}", file=sys.stderr)
        return 2
    except (ModelFileError, OSError) as error:
        print(f"parley: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstopped; what has come is kept, and the same command continues", file=sys.stderr)
        return 130
    return 0


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m server.models",
        description="List, fetch, delete and choose the models of this machine. Nothing is fetched unless you ask.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="YAML file (default: parley.yaml, if it is there)")
    actions = parser.add_subparsers(dest="action", metavar="list | get | use | rm")
    actions.add_parser("list", help="models that are there, and recommended ones (default)")
    get = actions.add_parser("get", help="fetch a model")
    get.add_argument("name", metavar="NAME|URL")
    get.add_argument("--sha256", type=_hash, metavar="HASH", help="the hash that the file must have")
    for action, text in (("use", "choose the model that answers"), ("rm", "delete a model")):
        actions.add_parser(action, help=text).add_argument("name", metavar="NAME")
    return parser.parse_args(arguments)


def _hash(text: str) -> str:
    if len(text) != 64 or not set(text.lower()) <= set("0123456789abcdef"):
        raise argparse.ArgumentTypeError("a SHA-256 has 64 digits, 0-9 and a-f")
    return text.lower()


def _list(folder: ModelFolder, data_dir: Path, environ: Mapping[str, str]) -> None:
    chosen, files = load_choice(data_dir), folder.files()
    print(f"in {folder.folder}:" if files else f"no models in {folder.folder} yet")
    for file in files:
        is_chosen = isinstance(chosen, FileChoice) and chosen.name == file.name
        print(f"{'*' if is_chosen else ' '} {_described(file)}")
    there = {file.name for file in files if file.is_complete}
    print("\nrecommended (instruct models that call tools; not run here):")
    for model in RECOMMENDED:
        if model.name not in there:
            size = gigabytes(model.size_bytes)
            name = model.name.removesuffix(".gguf")
            print(f"  {name:34} {model.parameters:>5}  {size:>7}  {model.licence}  {model.url(environ)}")
    print("\n`python -m server.models get NAME` fetches one, `use NAME` makes it answer")


def _described(file: ModelFile) -> str:
    size = gigabytes(file.size_bytes)
    if not file.is_complete:
        return f"{file.name}  {size} of {gigabytes(file.total_bytes)}: not complete, `get` continues"
    return f"{file.name}  {size}  SHA-256 {file.sha256 or 'not pinned'}"


async def _get(folder: ModelFolder, name: str, sha256: str | None, environ: Mapping[str, str]) -> None:
    model = find_model(name)
    download = ModelDownload(
        folder,
        model.url(environ) if model else name,
        sha256=sha256 or (model.sha256 if model else None),
        size_bytes=model.size_bytes if model else None,
        on_progress=_ProgressLine(),
    )
    pinned = folder.pin(download.name)
    found = await download.run()
    compared = (
        "as given"
        if sha256
        else "as recommended"
        if model
        else "as the first time"
        if pinned
        else "computed and pinned"
    )
    print(f"{download.name} is complete\nSHA-256 {found} ({compared})")
    print(f"`python -m server.models use {download.name.removesuffix('.gguf')}` makes it answer")


class _ProgressLine:
    """Shows progress: one line that changes on a terminal, else a line for every tenth."""

    def __init__(self) -> None:
        self._is_terminal = sys.stdout.isatty()
        self._shown: tuple[str, int] = ("", -1)
        self._next_s = 0.0

    def __call__(self, progress: Progress) -> None:
        if progress.trouble:
            print(progress.trouble, file=sys.stderr)
            return
        percent = 100 * progress.done_bytes // progress.total_bytes
        text = f"{progress.stage} {percent:3} % of {gigabytes(progress.total_bytes)}"
        if self._is_terminal:
            if time.monotonic() >= self._next_s or percent == 100:
                self._next_s = time.monotonic() + _TERMINAL_S
                print(f"\r{text}", end="\n" if percent == 100 else "", flush=True)
        elif (step := (progress.stage, percent // _LOG_PERCENT)) != self._shown:
            self._shown = step
            print(text, flush=True)


def _use(folder: ModelFolder, data_dir: Path, name: str, llm: LlmSettings, environ: Mapping[str, str]) -> None:
    if name == _EMBEDDED:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        save_choice(data_dir, EmbeddedChoice())
        what = "the included model"
    else:
        path = folder.existing(name)
        pinned = folder.pin(path.name)
        if pinned is not None and (found := asyncio.run(sha256_of(path))) != pinned:
            raise ModelFileError(
                f"{path.name} has changed: its SHA-256 is {found}, pinned is {pinned}; `rm` it and `get` it again"
            )
        try:
            header = read_header(path)
        except NotAModel as error:
            raise ModelFileError(str(error)) from error
        save_choice(data_dir, FileChoice(path.name))
        what = f"{path.name} ({header.architecture})"
    print(f"from the next start of the server on, {what} answers")
    if decided_by := model_named_by(llm, environ):
        print(f"but {decided_by} is set and goes before this choice: remove it")


def _remove(folder: ModelFolder, data_dir: Path, name: str) -> None:
    chosen, path = load_choice(data_dir), folder.path(name)
    if isinstance(chosen, FileChoice) and chosen.name == path.name:
        raise ModelFileError(f"{path.name} is the model that answers; `use embedded` or another one first")
    folder.remove(name)
    print(f"{path.name} is deleted")
