"""What the OpenAPI document says, asked of a real server at random: right questions and wrong ones."""

import logging
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import checks
from schemathesis.generation import GenerationMode

from tests.model.profile import IS_SOAK, IS_WHOLE_SOAK, examples
from tests.support.server_process import ROOT, ServerProcess

logger = logging.getLogger(__name__)

CONFIG = "/api/hooks/config"
SETTINGS = {"checks": {"negative_data_rejection": {"expected-statuses": ["4xx"]}}}
CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.negative_data_rejection,
]


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.timeout(3600 if IS_SOAK else 180)
def test_no_question_makes_the_server_fail_or_break_its_own_schema(tmp_path: Path) -> None:
    statuses: Counter[int] = Counter()
    environ = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "PARLEY_SKILLS__DIR": str(tmp_path / "skills")}
    shutil.copytree(ROOT / "skills", tmp_path / "skills")
    with ServerProcess(tmp_path, environ=environ) as server:
        with requests.Session() as session:
            document = session.get(f"{server.url}/openapi.json", timeout=20).json()
            schema = schemathesis.openapi.from_dict(document, config=schemathesis.Config.from_dict(SETTINGS))
            schema.config.update(base_url=server.url)
            writes = schema.include(path=CONFIG, method="POST")
            edits = schema.include(path_regex="^/api/skills/")

            @settings(examples(2000), suppress_health_check=list(HealthCheck))
            @given(
                st.one_of(
                    schema.as_strategy(generation_mode=GenerationMode.POSITIVE),
                    schema.as_strategy(generation_mode=GenerationMode.NEGATIVE),
                    writes.as_strategy(headers={"If-Match": "*"}),
                    edits.as_strategy(headers={"If-Match": "*"}, path_parameters={"skill": "careful-reader"}),
                )
            )
            def ask(case: schemathesis.Case[Any]) -> None:
                answer = case.call_and_validate(session=session, checks=CHECKS)
                statuses[answer.status_code] += 1

            ask()
        assert "Traceback" not in server.log()
    logger.info("%d answers: %s", statuses.total(), dict(sorted(statuses.items())))
    assert ({200, 400, 404, 412} if IS_WHOLE_SOAK else {200, 400}) <= statuses.keys()  # a few need not meet them all
