"""The composition root: builds every object once, wires them, starts and stops them in order."""

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final

from server import config
from server.accounts.accounts import Accounts
from server.agent.agent_client import AgentClient, prompts_for
from server.agent.prompts import system_prompt
from server.approval.broker import ApprovalBroker
from server.approval.remembered import RememberedApprovals
from server.approval.replica_broker import ReplicaBroker
from server.bounded.fair_share import LoopShare
from server.config_file import data_dir_of
from server.errors import ConfigError, log_failure
from server.gateway.auth import Authenticator
from server.gateway.file_routes import MediaRoute, StaticFiles
from server.gateway.http import HttpServer
from server.gateway.login import LOGIN_FILES, LoginRoutes, SessionRoutes
from server.gateway.probes import Probes, show_speech, show_storage
from server.gateway.rest.audit_routes import AuditRoutes
from server.gateway.rest.policy_routes import ApprovalRoutes, PolicyRoutes
from server.gateway.rest.rest_api import RestApi
from server.gateway.websocket_server import WebSocketServer
from server.hooks.layers import HookLayers
from server.hooks.process.hook_process import HookLimits
from server.hooks.process.host import HookHost
from server.llm.embedded import EmbeddedModel
from server.llm.language_model import LanguageModel, Message, ModelInfo
from server.media.references import MediaError, UrlSigner
from server.media.store import MediaStore
from server.metrics import Metrics
from server.models.file_model import FileModel, free_memory
from server.models.model_choice import ModelChoice, load_choice
from server.models.model_fetcher import ModelFetcher
from server.models.model_files import ModelFolder
from server.models.model_host import MODELS_FOLDER, ModelEvents, ModelHost, create_model, unused_model_warning
from server.models.model_routes import ModelRoutes
from server.policy.document import document_of_config
from server.policy.document_store import PolicyStore
from server.policy.engine import PolicyEngine
from server.realtime.realtime_routes import RealtimeRoutes
from server.realtime.session_config import ServerTools
from server.session.chat_handler import ChatHandler
from server.session.services import Services
from server.session.status_frames import hooks_of_skill
from server.session.turn_limits import Preparation, TurnGate
from server.speech.service import SpeechService
from server.status import ServerStatus, mcp_notice
from server.storage.storage import Storage
from server.tools.builtin import build_registry
from server.tools.executor import ToolExecutor
from server.tools.mcp.servers import McpServers
from server.tools.registry import DynamicToolRegistry
from server.wire.frames import TurnSettings
from skill_tools.studio.skill_files import SkillFiles
from skill_tools.studio.skill_routes import SkillRoutes
from skill_tools.studio.skill_trial import SkillTrial
from skill_tools.studio.skill_trial_routes import SkillTrialRoutes
from skills_engine import HookFacts, HookState, Signer, SkillsLibrary
from skills_engine.hook_manager import first_call_texts
from skills_engine.signing import SecretFileError

logger = logging.getLogger(__name__)

FRONTEND: Final = Path(__file__).parent.parent / "frontend"
_NAME_WAIT_S: Final = 3.0
_SWITCH_S: Final = 0.0005
"""Time after which a thread gives way to the event loop; the interpreter's own 5 ms would hold it."""

Announce = Callable[[str], None]


class App:
    def __init__(
        self,
        settings: config.Config,
        environ: Mapping[str, str],
        *,
        data_dir: Path,
        model: LanguageModel,
        choice: ModelChoice | None = None,
        signer: Signer,
        skills: SkillsLibrary,
        hook_limits: HookLimits | None = None,
    ) -> None:
        """Build and wire every part; nothing starts here. Raises ConfigError."""
        self._settings = settings
        self._data_dir = data_dir
        self._skills = skills
        self._tasks: list[asyncio.Task[None]] = []
        self._status = ServerStatus(skills)
        self._speech = SpeechService.build(
            settings.speech, environ, on_change=lambda: self._status.show_speech(self._speech)
        )
        self._status.show_speech(self._speech)
        self.hooks = HookHost(
            settings.hooks, environ, limits=hook_limits, on_change=lambda: self._status.show_hooks(self.hooks)
        )
        self.storage = Storage(
            settings.storage, data_dir, on_change=lambda: self._status.show_storage(self.storage.database)
        )
        self._metrics = Metrics()
        self._loop_share = LoopShare(on_step=self._metrics.loop_time.observe)
        waiting = "Users whose messages wait, as they have taken their share of the event loop"
        self._metrics.show("parley_loop_waiting", waiting, lambda: self._loop_share.waiting)
        show_speech(self._metrics, self._speech)
        self._preparation = Preparation()
        self._lasting = AsyncExitStack()
        self.policies = PolicyStore(self.storage.documents, document_of_config(settings.hooks))
        self._policy_engine = PolicyEngine(self.policies.effective, self.storage.audit.append, settings.hooks)
        self._policy_engine.check_config(self.policies.operator_yaml)
        self.policies.listen(self._load_policy_rules)
        show_storage(self._metrics, self.storage)
        self.media = MediaStore(
            settings.media,
            settings.media.dir or data_dir / "media",
            sources=[*settings.skills.roots, *settings.tools.roots],
            signer=UrlSigner(signer.derived_keys("media urls")),
        )
        self.tools = DynamicToolRegistry(build_registry(settings.tools, *settings.skills.roots))
        self._mcp = McpServers(settings.tools, self.tools, environ, notify=self._status.note_mcp)
        executor = ToolExecutor(self.tools, settings.tools)
        self._layers = HookLayers(
            settings.hooks, processes=self.hooks, policies=self._policy_engine.for_turn, media=self.media
        )
        self._broker = _build_broker(settings, self.storage, self._policy_engine, signer)
        self._agent = AgentClient(model, executor, config=settings.agent, llm=settings.llm)
        self.models = ModelHost(
            settings.llm,
            environ,
            data_dir,
            model=model,
            choice=choice,
            is_replica=settings.storage.url is not None,
            events=ModelEvents(
                on_state=partial(self._status.readiness.set, "model"),
                on_info=self._status.show_model,
                warm_up=self._warm_up,
                use=self._agent.use_model,
            ),
        )
        self._fetcher = ModelFetcher(ModelFolder(data_dir / MODELS_FOLDER), environ)
        accounts = Accounts(settings.security, signer.derived_keys("session cookies"), self.storage.page_sessions)
        authenticator = Authenticator(settings.listen, settings.security, settings.proxies, accounts)
        services = self._build_services(signer)
        self.sockets = WebSocketServer(services, authenticator, settings.limits)
        realtime = RealtimeRoutes(
            accounts,
            authenticator,
            self.sockets,
            model_name=lambda: self.models.info.name,
            server_tools=ServerTools(settings.tools.mcp.keys(), lambda: executor.tool_names),
            gate=services.gate,
        )
        self.http = HttpServer(
            settings.listen,
            authenticator=authenticator,
            metrics=self._metrics,
            groups=(
                self.sockets,
                realtime,
                Probes(authenticator, self._status.readiness, self._metrics),
                LoginRoutes(authenticator, accounts, FRONTEND),
                MediaRoute(self.media, authenticator),
                self._build_rest(authenticator, services, realtime, signer),
                StaticFiles(FRONTEND, LOGIN_FILES),
            ),
        )

    @classmethod
    async def build(
        cls, settings: config.Config, environ: Mapping[str, str], *, hook_limits: HookLimits | None = None
    ) -> "App":
        """Read what is needed from disk. Raises ConfigError."""
        data_dir = data_dir_of(settings, environ)
        try:
            data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"data.dir: cannot create {data_dir}: {error.strerror}") from error
        try:
            signer = Signer.from_file(settings.security.secret_file or data_dir / "secret")
        except SecretFileError as error:
            raise ConfigError(f"security.secret_file: {error}") from error
        own = settings.skills
        skills = SkillsLibrary(own.dir, dirs=own.dirs, enabled=own.enabled, also=own.also, reload=own.reload)
        await asyncio.to_thread(skills.load)
        choice = load_choice(data_dir)
        model = create_model(settings.llm, environ, choice, models_dir=data_dir / MODELS_FOLDER)
        if choice is None and (warning := unused_model_warning(settings.llm, environ)):
            logger.warning("%s", warning)
        app = cls(
            settings,
            environ,
            data_dir=data_dir,
            model=model,
            choice=choice,
            signer=signer,
            skills=skills,
            hook_limits=hook_limits,
        )
        try:
            await app.media.start()
        except MediaError as error:
            raise ConfigError(f"media.dir: {error}") from error
        return app

    @asynccontextmanager
    async def running(self, announce: Announce, stop: asyncio.Event | None = None) -> AsyncIterator[None]:
        """Listen, and keep going what runs beside the connections; on leaving, stop all of it.

        While the start waits for the database, only probes are answered. `stop` ends the wait, and nothing more starts.
        """
        sys.setswitchinterval(_SWITCH_S)
        try:
            address = await self.http.start()
            if await self.storage.wait(stop or asyncio.Event()):
                await self._lasting.enter_async_context(self.storage.running())
                self.policies.check()
                self.hooks.start()
                self._status.show_hooks(self.hooks)
                self.http.admit()
                announce(f"listening on {address}")
                self._begin_all(announce, address)
            yield
        finally:
            await self.sockets.aclose()
            await self.http.aclose()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self._mcp.aclose()
            await self.hooks.aclose()
            await self._speech.aclose()
            await self._fetcher.stop()
            await self.models.aclose()
            await self._lasting.aclose()

    def _begin_all(self, announce: Announce, address: str) -> None:
        self.begin(self._status.readiness.settled("model"), "model loading", before_turns=True)
        self.begin(self.hooks.settled(), "process hooks starting", before_turns=True)
        self.models.start(address)
        self.begin(self._announce_rest(announce), "announcements")
        self.begin(self._skills.watch(self._status.note_skills), "skills")
        self.begin(self._status.skill_tests.run(), "tests of skills")
        self.begin(self._status.broadcaster.run(self.sockets.for_each_session), "broadcasts")
        self.begin(self._speech.start(), "speech start")
        self.begin(self.sockets.beat(), "heartbeat")
        self.begin(self._mcp.start(), "mcp start")
        self.begin(self._metrics.watch_loop(), "event loop watch")
        if isinstance(self._broker, ReplicaBroker):
            self.begin(self._broker.run(), "questions of other replicas")
        self.begin(self.media.sweep_regularly(), "media sweep")

    async def reload_on(self, wanted: asyncio.Event, read_again: Callable[[], config.Config]) -> None:
        """Each time the event is set, run the process hooks configured now. A mistake leaves all as it is."""
        while True:
            await wanted.wait()
            wanted.clear()
            try:
                wanted_hooks = (await asyncio.to_thread(read_again)).hooks
                policy = document_of_config(wanted_hooks)
                await asyncio.to_thread(self._policy_engine.check_config, policy)
                done = await self.hooks.reload(wanted_hooks)
                self._layers.reload(wanted_hooks)
                is_policy_new = self.policies.use_yaml(policy)
            except ConfigError as error:
                logger.error("the old configuration stays: %s; correct it and send SIGHUP again", error)  # noqa: TRY400  # its text says all
                continue
            changed = {"started": done.started, "restarted": done.restarted, "stopped": done.stopped}
            what = "; ".join(f"{verb} {', '.join(names)}" for verb, names in changed.items() if names)
            policy_text = "applied" if is_policy_new else "unchanged"
            logger.info("configuration read again: process hooks %s; tool policy %s", what or "unchanged", policy_text)

    def begin(self, work: Coroutine[None, None, None], name: str, *, before_turns: bool = False) -> None:
        """Run the work until it ends or the server stops; `before_turns`: turns wait for it."""
        task = asyncio.create_task(work, name=name)  # `running` awaits it
        task.add_done_callback(log_failure)
        self._tasks.append(task)
        if before_turns:
            self._preparation.add(task)

    async def drain(self) -> None:
        """Refuse what is new, let running turns end (for `listen.drain_s`), close every connection."""
        self._status.readiness.is_draining = True
        await self.sockets.drain(self._settings.listen.drain_s)

    def _build_services(self, signer: Signer) -> Services:
        settings = self._settings
        handler = ChatHandler(
            self._agent,
            verify=signer.verify,
            limits=settings.limits,
            model_ready=self._preparation.wait,
            layers=self._layers,
            filler=settings.agent.filler,
            hook_tokens=settings.skills.hook_tokens,
            draw_key=signer.derived_keys("draws")[0],
        )
        return Services(
            handler=handler,
            skills=self._skills,
            skill_tests=lambda: self._status.skill_tests.reports,
            sign=signer.sign,
            sign_state=partial(HookState.signed, signer=signer),
            read_state=partial(HookState.read, signer=signer),
            gate=TurnGate(
                settings.limits.turns,
                self._metrics,
                per_user=settings.limits.turns_per_user,
                exceptions={entry.user: entry.limits.turns for entry in settings.security.tokens},
            ),
            metrics=self._metrics,
            limits=settings.limits,
            loop_share=self._loop_share,
            security=settings.security,
            model=lambda: self.models.info,
            speech=self._speech,
            open_notices=lambda: [mcp_notice("mcp_server_lost", message) for message in self._mcp.lost],
            broker=self._broker,
        )

    def _build_rest(
        self, authenticator: Authenticator, services: Services, realtime: RealtimeRoutes, signer: Signer
    ) -> RestApi:
        storage, skills = self.storage, self._settings.skills
        is_editable = self._settings.storage.url is None if skills.edit == "auto" else skills.edit
        skill_files = SkillFiles(skills.dir, self._data_dir, further=skills.dirs, is_on=is_editable)
        return RestApi(
            authenticator,
            operations=(
                *PolicyRoutes(self.policies, self._policy_engine, storage.audit).operations(),
                *AuditRoutes(storage.database, keep_days=storage.audit_days).operations(),
                *ApprovalRoutes(storage.approvals, storage.audit).operations(),
                *ModelRoutes(self.models, self._fetcher, storage.audit, free_memory_bytes=free_memory()).operations(),
                *SessionRoutes(storage.page_sessions, storage.audit).operations(),
                *SkillRoutes(skill_files, storage.audit).operations(),
                *SkillTrialRoutes(skill_files, SkillTrial(services, signer)).operations(),
                *realtime.operations(),
            ),
            processes=self.hooks.health,
            builtins=self._layers.builtin_health,
            hooks_of_skill=partial(hooks_of_skill, services),
        )

    async def _warm_up(self, model: LanguageModel) -> list[Message]:
        """Let a model on this machine read what every turn begins with, and return it."""
        prompts, override = prompts_for(model), self._settings.agent.system_prompt
        catalog = self._skills.current.catalog(None, budget_tokens=prompts.catalog_budget_tokens).text
        prompt = system_prompt(prompts, TurnSettings(), override=override, catalog=catalog)
        beginning: list[Message] = [{"role": "system", "content": prompt}]
        if isinstance(model, EmbeddedModel):  # its system message ends in the hooks' words
            texts = first_call_texts(self._skills.current.hooks(None), HookFacts(model=model.info.name, is_local=True))
            late = [{"role": "system", "content": text} for text in texts]
            await model.warm_up([*beginning, *late])
        elif isinstance(model, FileModel):
            await model.warm_up(beginning)
        return beginning

    async def _announce_rest(self, announce: Announce) -> None:
        try:
            async with asyncio.timeout(_NAME_WAIT_S):  # its name may be known only when it has answered
                await self._status.readiness.settled("model")
        except TimeoutError:
            logger.debug("the model is still loading")
        announce(describe(self.models.info))
        if found := await self.models.offer():
            announce(found.described())
        announce(f"data: {self._data_dir}")

    def _load_policy_rules(self, handlers: frozenset[str]) -> None:
        """Load in a thread what a stored policy needs; turns wait for it, the event loop does not."""
        if not self._policy_engine.has_rules(handlers):
            loading = asyncio.to_thread(self._policy_engine.load_rules, handlers)
            self.begin(loading, "policy rules", before_turns=True)


def _build_broker(settings: config.Config, storage: Storage, engine: PolicyEngine, signer: Signer) -> ApprovalBroker:
    """Return the broker of one process, which writes no questions into its database, or of several."""
    approval, command_of = settings.hooks.approval, engine.judge.command_of
    remembered = RememberedApprovals(
        storage.approvals, engine.scanner.redact, signer.derived_keys("remembered approvals")
    )
    is_shared = settings.storage.url is not None if approval.replicas == "auto" else approval.replicas
    if is_shared:
        return ReplicaBroker(approval, remembered, storage.questions, command_of)
    return ApprovalBroker(approval, remembered, command_of)


def describe(model: ModelInfo) -> str:
    """Return the line for the operator: the model that answers, its host, and where its key came from."""
    without = "no key needed" if model.location == "local" else "no key"
    key = f"from {model.key_source}" if model.key_source else without
    return f"model: {model.name} at {model.host} ({key})"
