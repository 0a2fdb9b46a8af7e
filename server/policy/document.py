"""The tool policy as a document (docs/rest.md): read, checked, and laid over one another. Pure.

Three documents count: the operator's in parley.yaml, the operator's stored one,
the user's stored one. Each names the stages it decides about and leaves the
others as they are.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from server import config
from server.config import AnyPolicyStage, PolicyHandler, PolicyStage
from server.errors import PolicyError
from server.policy.call_filter import matcher
from server.wire.schema_hints import keys_at, problem_and_path, values_at

PolicyStageName = Literal["pre_tool_use", "post_tool_use", "tool_error", "tool_skip"]
STAGES: Final[tuple[PolicyStageName, ...]] = get_args(PolicyStageName)

_OPERATORS_KEYS: Final = frozenset(config.HooksSettings.__struct_fields__) - frozenset(STAGES)


class PolicyDocument(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Stages that a document decides about; None for one that it leaves as it is."""

    pre_tool_use: PolicyStage | None = None
    post_tool_use: PolicyStage | None = None
    tool_error: PolicyStage | None = None
    tool_skip: PolicyStage | None = None

    def stages(self) -> Iterator[tuple[PolicyStageName, PolicyStage]]:
        """Yield the stages that the document names, in the order of STAGES."""
        for name in STAGES:
            if (stage := self.stage(name)) is not None:
                yield name, stage

    @property
    def handler_names(self) -> frozenset[str]:
        """Types of the handlers that are switched on."""
        return frozenset(entry.type for _, stage in self.stages() if stage.enabled for entry in stage.handlers)

    def stage(self, name: PolicyStageName) -> PolicyStage | None:
        stage: PolicyStage | None = getattr(self, name)
        return stage


NO_POLICY: Final = PolicyDocument()


@dataclass(frozen=True, kw_only=True, slots=True)
class HandlerSpec:
    """Handler that a document may name in `type`."""

    name: str
    description: str
    stages: tuple[PolicyStageName, ...] = STAGES
    """Stages at which it works."""
    settings: type[Struct] | None = None
    """Type of its `config`, or None if the handler itself reads it."""


def read_document(raw: bytes | str) -> PolicyDocument:
    """Read what a client sent: the four stages, bare or inside `{"hooks": …}`; nothing is checked against handlers.

    A stage may be a plain list of handlers. Raises PolicyError.
    """
    try:
        tree = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise PolicyError(f"not a JSON document: {str(error)[:200]}", path="$") from None
    return document_of(tree)


def document_of(tree: object) -> PolicyDocument:
    """Return the document of JSON that is parsed already. Raises PolicyError for one that is not valid."""
    path = "$"
    if isinstance(tree, dict) and "hooks" in tree:
        for key in tree:
            if key != "hooks":
                raise PolicyError(
                    "is outside `hooks`; put every stage inside `hooks`, or leave `hooks` out", path=f"$.{key}"
                )
        tree, path = tree["hooks"], "$.hooks"
    if isinstance(tree, dict):
        for key in tree:
            if key in _OPERATORS_KEYS:
                raise PolicyError(
                    f"`{key}` is set in parley.yaml only; a document holds {', '.join(STAGES)}", path=f"{path}.{key}"
                )
    try:
        body = msgspec.convert(tree, PolicyBody)
    except msgspec.ValidationError as error:
        raise _explain(str(error), path, PolicyBody) from None
    return _normalised(body)


def document_of_config(hooks: config.HooksSettings) -> PolicyDocument:
    """Return the operator's document of parley.yaml; an empty list of handlers leaves its stage as it is."""
    return _normalised(hooks)


def check_document(
    document: PolicyDocument,
    specs: Mapping[str, HandlerSpec],
    *,
    may_lock: bool,
    below: PolicyDocument = NO_POLICY,
) -> None:
    """Check every handler but copies of what is locked in `below`.

    Raises PolicyError for a handler that is unknown or cannot stand there, and for a bad `config` or filter.
    """
    for name, stage in document.stages():
        locked = _locked(below.stage(name))
        for index, handler in enumerate(stage.handlers):
            if handler not in locked:
                _check_handler(handler, name, f"$.{name}.handlers[{index}]", specs, may_lock=may_lock)


def _check_handler(
    handler: PolicyHandler, stage: PolicyStageName, path: str, specs: Mapping[str, HandlerSpec], *, may_lock: bool
) -> None:
    spec = specs.get(handler.type)
    if spec is None:
        known = ", ".join(sorted(specs)) or "none"
        raise PolicyError(f"there is no handler `{handler.type}`; known: {known}", path=f"{path}.type")
    if stage not in spec.stages:
        text = f"`{handler.type}` does not work at {stage}, only at {', '.join(spec.stages)}"
        raise PolicyError(text, path=f"{path}.type")
    if handler.locked and not may_lock:
        raise PolicyError("only the operator's documents can lock a handler", path=f"{path}.locked")
    if spec.settings is not None:
        try:
            msgspec.convert(handler.config, spec.settings)
        except msgspec.ValidationError as error:
            raise _explain(str(error), f"{path}.config", spec.settings) from None
    if handler.filter is not None:
        _check_filter(handler.filter, f"{path}.filter")


def _check_filter(wanted: config.PolicyFilter, path: str) -> None:
    for key, patterns in (("tools", wanted.tools or ()), ("arguments", (wanted.arguments or {}).values())):
        for pattern in patterns:
            try:
                matcher(pattern)
            except ValueError as error:
                raise PolicyError(str(error), path=f"{path}.{key}") from None


def lay_over(below: PolicyDocument, above: PolicyDocument) -> PolicyDocument:
    """Return both documents as one. A stage that `above` names replaces the one below it, but for locked handlers.

    Those stay, in their order, before everything laid over them; a copy of one
    in `above` (a client that sends back what it read) counts once. Switching a
    stage off above a locked handler leaves that handler alone at work.
    """
    return PolicyDocument(**{name: _stage_over(below.stage(name), above.stage(name)) for name in STAGES})


def without_locked(document: PolicyDocument, below: PolicyDocument) -> PolicyDocument:
    """Return `document` without the copies of what is locked in `below`."""
    own = {
        name: replace(stage, handlers=_without(stage.handlers, _locked(below.stage(name))))
        for name, stage in document.stages()
    }
    return PolicyDocument(**own)


def document_schema(specs: Sequence[HandlerSpec]) -> dict[str, Any]:
    """Return the JSON Schema of documents that name these handlers, for editors that complete by it."""
    settings = [spec.settings for spec in specs if spec.settings is not None]
    (_, *configs), shared = msgspec.json.schema_components([PolicyHandler, *settings], ref_template="#/$defs/{name}")
    references = dict(zip(settings, configs, strict=True))
    entry = shared.pop("PolicyHandler")

    def entry_of(spec: HandlerSpec) -> dict[str, Any]:
        own = {"type": {"const": spec.name, "description": spec.description}}
        if spec.settings is not None:
            own["config"] = references[spec.settings]
        return {**entry, "properties": {**entry["properties"], **own}}

    def stage(name: PolicyStageName) -> dict[str, Any]:
        handlers = {"type": "array", "items": {"anyOf": [entry_of(spec) for spec in specs if name in spec.stages]}}
        whole = {
            "type": "object",
            "properties": {"enabled": {"type": "boolean", "default": True}, "handlers": handlers},
        }
        return {"anyOf": [handlers, whole]}

    return {"type": "object", "properties": {name: stage(name) for name in STAGES}, "$defs": shared}


def place_as_written(path: str, tree: Any) -> str:
    """Return the path of a handler as it is in `tree`, where stages may be plain lists, or inside `{"hooks": …}`."""
    place = _HANDLER.match(path)
    if place is None:
        return path
    is_wrapped = "hooks" in tree
    stage, rest = place["stage"], place["rest"]
    is_list = isinstance((tree["hooks"] if is_wrapped else tree)[stage], list)
    return f"${'.hooks' if is_wrapped else ''}.{stage}{'' if is_list else '.handlers'}{rest}"


def to_json(document: PolicyDocument) -> bytes:
    """Return canonical JSON: equal documents give equal bytes."""
    return msgspec.json.encode(document, order="deterministic")


def _stage_over(below: PolicyStage | None, above: PolicyStage | None) -> PolicyStage | None:
    if above is None:
        return below
    if not (locked := _locked(below)):
        return above
    return PolicyStage(handlers=[*locked, *(_without(above.handlers, locked) if above.enabled else [])])


def _locked(stage: PolicyStage | None) -> list[PolicyHandler]:
    if stage is None or not stage.enabled:
        return []
    return [handler for handler in stage.handlers if handler.locked]


def _without(handlers: list[PolicyHandler], locked: list[PolicyHandler]) -> list[PolicyHandler]:
    return [handler for handler in handlers if handler not in locked]


class PolicyBody(Struct, forbid_unknown_fields=True):
    """A document as it may be written."""

    pre_tool_use: AnyPolicyStage | None = None
    post_tool_use: AnyPolicyStage | None = None
    tool_error: AnyPolicyStage | None = None
    tool_skip: AnyPolicyStage | None = None


def _normalised(body: PolicyBody | config.HooksSettings) -> PolicyDocument:
    stages: dict[str, PolicyStage] = {}
    for name in STAGES:
        match getattr(body, name):
            case PolicyStage() as stage:
                stages[name] = stage
            case list() as handlers if handlers or isinstance(body, PolicyBody):
                stages[name] = PolicyStage(handlers=handlers)
    return PolicyDocument(**stages)


_HANDLER = re.compile(r"\$\.(?P<stage>\w+)\.handlers(?P<rest>\[.*)", re.DOTALL)
_UNKNOWN = re.compile(r"^Object contains unknown field `(?P<key>.*)`$", re.DOTALL)


def _explain(text: str, base: str, kind: type[Struct]) -> PolicyError:
    """Return an error for msgspec's `text` about what should have been a `kind` at `base`."""
    problem, inner = problem_and_path(text)
    path, problem = base + inner, problem[:200]  # both can quote the client at length
    if unknown := _UNKNOWN.match(problem):
        known = keys_at(kind, inner)
        path, problem = f"{path}.{unknown['key']}", f"unknown key; known: {', '.join(known) or 'none'}"
    elif values := values_at(kind, inner):
        problem = f"{problem}; one of {', '.join(values)}"
    return PolicyError(problem, path=path[:300])
