"""Runners of a project's own tasks, whose names say what they do: `rake db:nuke`, `npm run deploy:live`, `drush sql:drop`."""

from typing import Final

from server.policy.danger.commands.step import Judge, Step
from server.policy.danger.names.judge import judge_action

_DIRECT: Final = frozenset(
    "rails rake bin/rails bin/rake artisan mix drush occ magento bin/console console manage.py django-admin flask invoke inv fab thor lein ant phing wp "
    "typo3 cake yii spark nx turbo lerna grunt gulp jake task poe nox tox sf symfony craft contao shopware bench".split()
)
"""Their first word is the task."""
_BEHIND_RUN: Final = frozenset("npm pnpm yarn bun deno composer hatch pdm poetry rye uv pipenv cargo".split())
"""Their task stands behind `run`."""
_EVERYDAY: Final = frozenset(
    "db:migrate migrate db:seed db:create db:prepare db:generate migrate:status db:migrate:status".split()
)
_MILD: Final = frozenset(
    "cache view views config route routes asset assets compiled stats temp tmp log docs test tests event events".split()
)
"""What a framework makes anew."""


def _by_task(step: Step) -> str | None:
    plain = [word for word in step.rest if not word.startswith(("-", "@"))]
    if step.name in _BEHIND_RUN:
        plain = plain[1:] if plain[:1] in (["run"], ["run-script"], ["task"]) else []
    if not plain or plain[0] in _EVERYDAY or not _MILD.isdisjoint(plain[0].replace(":", "-").split("-")):
        return None
    return judge_action(step.name, plain[0])


JUDGES: Final[dict[str, Judge]] = dict.fromkeys(_DIRECT | _BEHIND_RUN, _by_task)
