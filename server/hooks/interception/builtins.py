"""In-process hooks that the configuration can switch on: `hooks.builtins.<name>`."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from server import config
from server.errors import ConfigError
from server.hooks.interception.ask_human import AskHumanApprover
from server.hooks.interception.event_kinds import KINDS
from server.hooks.interception.members import BuiltinHealth, BuiltinMember

Factory = Callable[[Any], object]
"""From the `config` of the entry (None: not given) to the hook. Raises ConfigError or msgspec.ValidationError."""

BUILTINS: Final[Mapping[str, Factory]] = {"ask_human": AskHumanApprover.from_config}


class BuiltinHooks:
    """The enabled ones, built once; `run` delivers their events."""

    def __init__(self, settings: config.HooksSettings, factories: Mapping[str, Factory] = BUILTINS) -> None:
        """Raises ConfigError. Entries that are off are not looked at."""
        self.members: tuple[BuiltinMember, ...] = ()
        if settings.enabled:
            self.members = tuple(
                _member(name, entry, settings.defaults, factories)
                for name, entry in sorted(settings.builtins.items())
                if entry.enabled
            )

    def health(self) -> list[BuiltinHealth]:
        """In the order of their names."""
        return [member.health() for member in self.members]

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for member in self.members:
                if member.kinds:
                    tasks.create_task(member.run(), name=f"events of hook {member.name}")


def _member(
    name: str, entry: config.BuiltinHookSettings, defaults: config.HookDefaults, factories: Mapping[str, Factory]
) -> BuiltinMember:
    if (factory := factories.get(name)) is None:
        known = ", ".join(sorted(factories))
        raise ConfigError(f'hooks.builtins.{name}: builtin hook "{name}" is not registered; there are: {known}')
    try:
        hook = factory(entry.config)
    except (ConfigError, msgspec.ValidationError) as error:
        raise ConfigError(f'hooks.builtins.{name}.config: build builtin hook "{name}": {error}') from error
    return BuiltinMember(name, hook, defaults, priority=entry.priority, kinds=KINDS)
