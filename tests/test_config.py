"""Configuration: layers, secrets, paths, and what is told of a mistake."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from server.config import Config, Secret
from server.config_file import load_config
from server.errors import ConfigError


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


def load(text: str = "", environ: Mapping[str, str] | None = None) -> Config:
    """With `text` as parley.yaml of the working directory."""
    Path("parley.yaml").write_text(text, "utf-8")
    return load_config(None, environ or {})


def mistake(text: str = "", environ: Mapping[str, str] | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        load(text, environ)
    return str(caught.value)


# --- layers -------------------------------------------------------------------------------------------------------


def test_nothing_needs_to_be_configured() -> None:
    assert load_config(None, {"HOME": "/root", "PARLEYX_A": "1"}) == Config()
    assert load("") == Config()
    assert load("# only a comment\n") == Config()


def test_a_file_changes_what_it_names() -> None:
    config = load("listen: {port: 9000}\nllm:\n  options: {temperature: 0.3}\nlimits: {max_turn_s: 10}\n")

    assert (config.listen.port, config.listen.host) == (9000, "127.0.0.1")
    assert config.llm.options == {"temperature": 0.3}
    assert config.limits.max_turn_s == 10


def test_a_file_may_be_named(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text("listen: {port: 9001}")
    Path("parley.yaml").write_text("listen: {port: 9000}")

    assert load_config(tmp_path / "other.yaml", {}).listen.port == 9001


def test_the_environment_goes_over_the_file_key_by_key() -> None:
    environ = {"PARLEY_LISTEN__PORT": "9002", "PARLEY_LISTEN__TLS": "{cert: c, key: k}", "PARLEY_LLM__MODEL": "m"}

    config = load("listen: {host: 0.0.0.0, port: 9000}", environ)

    assert (config.listen.host, config.listen.port) == ("0.0.0.0", 9002)
    assert config.listen.tls.cert is not None
    assert config.llm.model == "m"


def test_variables_are_parsed_as_yaml_and_named_without_regard_to_case() -> None:
    environ = {
        "PARLEY_SKILLS__ENABLED": "[diary, time-aware]",
        "PARLEY_LISTEN__DRAIN_S": "1.5",
        "PARLEY_SECURITY__TRUST_LOOPBACK": "no",
        "PARLEY_LLM__BASE_URL": "",
        "PARLEY_security__TRACE": "true",
        "PARLEY_LOG": "{level: debug}",
        "PARLEY_LISTEN__TLS__CERT": "/c",
        "PARLEY_LISTEN__TLS__KEY": "/k",
        "PARLEY_LLM__OPTIONS__SEED": "7",
    }

    config = load("", environ)

    assert config.skills.enabled == ["diary", "time-aware"]
    assert config.listen.drain_s == 1.5
    assert config.security.trust_loopback is False
    assert config.llm.base_url is None
    assert config.security.trace is True
    assert config.log.level == "debug"
    assert (config.listen.tls.cert, config.listen.tls.key) == (Path("/c"), Path("/k"))
    assert config.llm.options == {"seed": 7}


def test_a_variable_replaces_a_list_and_adds_to_a_section() -> None:
    environ = {"PARLEY_SECURITY__HOSTS": "[c]", "PARLEY_SECURITY": "{origins: [d]}", "PARLEY_LLM__OPTIONS": "{b: 2}"}

    config = load("security: {hosts: [a, b]}\nllm: {options: {a: 1}}", environ)

    assert (config.security.hosts, config.security.origins) == (["c"], ["d"])
    assert config.llm.options == {"a": 1, "b": 2}


def test_off_needs_no_quotes_where_it_is_a_value() -> None:
    config = load("skills: {reload: off}\nhooks: {stream_gate: off, enabled: off}", {"PARLEY_LLM__DISCOVER": "off"})

    assert (config.skills.reload, config.hooks.stream_gate, config.llm.discover) == ("off", "off", "off")
    assert config.hooks.enabled is False


# --- mistakes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "lisen: {}",
            (
                "lisen: unknown key; expected one of agent, data, hooks, limits, listen, llm, log, media, proxies, "
                "security, skills, speech, storage, tools"
            ),
        ),
        ("listen: {prot: 1}", "listen.prot: unknown key; expected one of drain_s, host, port, tls"),
        ("listen: {tls: {crt: x}}", "listen.tls.crt: unknown key; expected one of cert, key"),
        ("listen: {port: x}", "listen.port: expected `int`, got `str`"),
        ("listen: {port: 65536}", "listen.port: expected `int` <= 65535"),
        ("listen: {port: -1}", "listen.port: expected `int` >= 0"),
        (
            "llm: {discover_urls: ['http://anna:secret@nas/v1']}",
            "llm: discover_urls[0]: write it as http://models.example.lan:11434/v1",
        ),
        ("listen: 5", "listen: expected `object`, got `int`"),
        ("listen: {tls: {cert: x}}", "listen.tls: cert and key go together"),
        ("log: {level: loud}", "log.level: invalid enum value 'loud'; one of debug, error, info, warning"),
        (
            "hooks: {processes: {a: {}, guard: {comand: [x]}}}",
            (
                "hooks.processes.guard.comand: unknown key; expected one of canary, command, dir, enabled, env, "
                "event_kinds, event_method, inherit_env, intercept, observe, on_error, pair_stages, priority, record, "
                "timeout_ms, transport"
            ),
        ),
        (
            "hooks: {processes: {a: {on_error: shut}}}",
            "hooks.processes.a.on_error: invalid enum value 'shut'; one of closed, open",
        ),
        (
            "hooks: {processes: {a: {command: [x], env: {A: x, B: 5}}}}",
            "hooks.processes.a.env.B: expected `str`, got `int`",
        ),
        (
            "tools: {mcp: {a: {command: x}, fs: {comand: y}}}",
            (
                "tools.mcp.fs.comand: unknown key; expected one of args, command, dir, enabled, env, headers, "
                "instructions, permission, permissions, timeout_s, tools, trust_hints, url"
            ),
        ),
        (
            "security: {tokens: [{env: A}]}",
            "security.tokens[0].env: unknown key; expected one of limits, operator, token, user",
        ),
        (
            "llm: {env: A}",
            (
                "llm.env: unknown key; expected one of api_key, base_url, connect_timeout_s, context_tokens, "
                "discover, discover_urls, first_token_timeout_s, idle_timeout_s, late_system, max_tokens, model, "
                "options, provider"
            ),
        ),
        ("llm: {api_key: 5}", "llm.api_key: expected `str`, got `int`"),
        ("llm: {context_tokens: 0}", "llm.context_tokens: expected `int` >= 1"),
        ("llm: {idle_timeout_s: 0}", "llm.idle_timeout_s: expected `float` > 0.0"),
        ("agent: {max_rounds: 101}", "agent.max_rounds: expected `int` <= 100"),
        ("agent: {planning: 1}", "agent.planning: expected `bool`, got `int`"),
        (
            "skills: {enabled: all}",
            "skills.enabled: expected `array | null`, got `str`; a list is written [like, this]",
        ),
        (
            "hooks: {processes: {x: {command: run}}}",
            "hooks.processes.x.command: expected `array`, got `str`; a list is written [like, this]",
        ),
        ("skills: {enabled: [a, 5]}", "skills.enabled[1]: expected `str`, got `int`"),
        ("tools: {max_result_bytes: 255}", "tools.max_result_bytes: expected `int` >= 256"),
        ("tools: {roots: [5]}", "tools.roots[0]: expected `str`, got `int`"),
        ("tools: {mcp: {f: {}}}", "tools: mcp.f: either command (a program) or url (an address) is needed"),
        ("tools: {mcp: {f: {url: 'ftp://a'}}}", "tools: mcp.f: url must begin with http:// or https://"),
        (
            "tools: {mcp: {f: {url: 'http://a', args: [b]}}}",
            "tools: mcp.f: args, env and dir go with command, not with url",
        ),
        ("tools: {mcp: {f: {command: a, headers: {b: c}}}}", "tools: mcp.f: headers go with url, not with command"),
        (
            "tools: {mcp: {a__b: {command: c}}}",
            "tools: mcp.a__b: a name is up to 32 letters, digits, - and single _ between them",
        ),
        (
            "media: {max_total_bytes: 1024}",
            "media: max_item_bytes is larger than max_total_bytes: no such item could be stored",
        ),
        (
            "media: {max_user_bytes: 1024}",
            "media: max_item_bytes is larger than max_user_bytes: nobody could store such an item",
        ),
        ("limits: {max_hook_frames_per_turn: -1}", "limits.max_hook_frames_per_turn: expected `int` >= 0"),
        ("limits: {max_message_bytes: 1023}", "limits.max_message_bytes: expected `int` >= 1024"),
        ("speech: {vad: {threshold: 1}}", "speech.vad.threshold: expected `float` <= 0.95"),
        ("speech: {vad: {end_silence_ms: 100}}", "speech.vad.end_silence_ms: expected `int` >= 192"),
    ],
)
def test_a_mistake_is_told_by_its_key(text: str, told: str) -> None:
    assert mistake(text) == told


def test_a_section_whose_keys_are_commented_out_is_empty() -> None:
    assert load("listen:\n  # port: 80\nllm:\n") == Config()


def test_what_holds_nothing_is_as_if_it_were_not_there() -> None:
    assert load("hooks: {processes: {}, pre_tool_use: []}\ntools: {mcp: {}}\nstorage: {url: null}") == Config()


def test_a_file_that_is_not_there_is_told_only_when_it_was_named() -> None:
    with pytest.raises(ConfigError, match=r"nowhere.yaml: No such file or directory; --config must name"):
        load_config(Path("nowhere.yaml"), {})


def test_a_folder_is_no_file() -> None:
    with pytest.raises(ConfigError, match="Is a directory"):
        load_config(Path(), {})


def test_yaml_that_is_none_is_told_with_its_line() -> None:
    assert mistake("listen:\n  port: [1\n").startswith("parley.yaml:3: not valid YAML: ")
    assert mistake("- listen\n") == "parley.yaml: expected sections such as `listen:` at the top, got list"


def test_a_key_that_stands_twice_is_told_with_its_line() -> None:
    twice = "hooks: {pre_tool_use: [{type: audit_log}]}\nllm: {}\nhooks: {enabled: true}\n"

    assert mistake(twice) == "parley.yaml:3: not valid YAML: `hooks` occurs here a second time"
    assert mistake("listen: {port: 1, port: 2}").endswith("`port` occurs here a second time")


def test_a_section_may_stand_on_another_one_and_change_it() -> None:
    assert load("speech:\n  stt: &off {provider: none, model: x}\n  tts: {<<: *off, model: y}").speech.tts.model == "y"


def test_a_file_that_is_no_text_is_told() -> None:
    Path("parley.yaml").write_bytes(b"listen: {host: \xff}")

    with pytest.raises(ConfigError, match=r"^parley.yaml: not valid YAML: not readable as UTF-8 text$"):
        load_config(None, {})


def test_a_file_larger_than_a_mebibyte_is_not_read() -> None:
    Path("parley.yaml").write_bytes(b"#" * ((1 << 20) + 1))
    with pytest.raises(ConfigError, match="larger than 1048576 bytes; is this the right file"):
        load_config(None, {})


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("PARLEY_LISEN__PORT", "1", "PARLEY_LISEN__PORT: unknown section `lisen`; expected one of agent, data, "),
        ("PARLEY_HOME", "x", "PARLEY_HOME: unknown section `home`; "),
        ("PARLEY_DATA_DIR", "x", "PARLEY_DATA_DIR: unknown section `data_dir`; did you mean PARLEY_DATA__DIR?"),
        ("PARLEY_", "x", "PARLEY_: unknown section ``; "),
        ("PARLEY_LISTEN__PROT", "1", "listen.prot: unknown key; "),
        ("PARLEY_LISTEN__PORT", "[1", "PARLEY_LISTEN__PORT: not valid YAML; quote the value"),
        ("PARLEY_LISTEN__PORT", "", "listen.port: expected `int`, got `null`"),
        ("PARLEY_LISTEN__PORT__X", "1", "listen.port: expected `int`, got `object`"),
        ("PARLEY_STORAGE__AUDIT_DAYS", "x", "storage.audit_days: expected `int`"),
    ],
)
def test_a_mistake_in_a_variable_is_told(variable: str, value: str, told: str) -> None:
    assert mistake("", {variable: value}).startswith(told)


# --- paths --------------------------------------------------------------------------------------------------------

PATHS = "skills: {dir: s, dirs: [more, ~/x]}\ndata: {dir: d}\nsecurity: {secret_file: k}\ntools: {roots: [r, /abs]}\nlisten: {tls: {cert: c, key: ../k}}"


def test_relative_paths_count_from_the_file_that_names_them(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "p.yaml").write_text(PATHS)

    config = load_config(Path("../etc/p.yaml"), {})

    etc = tmp_path / "etc"
    assert config.skills.roots == [etc / "s", etc / "more", Path.home() / "x"]
    assert config.data.dir == etc / "d"
    assert config.security.secret_file == etc / "k"
    assert config.tools.roots == [etc / "r", Path("/abs")]
    assert (config.listen.tls.cert, config.listen.tls.key) == (etc / "c", etc / ".." / "k")


def test_those_of_variables_count_from_the_working_directory(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(PATHS)
    environ = {"PARLEY_SKILLS__DIR": "mine", "PARLEY_TOOLS__ROOTS": "[r2]"}

    config = load_config(tmp_path / "p.yaml", environ)

    assert config.skills.dir == tmp_path / "here" / "mine"
    assert config.tools.roots == [tmp_path / "here" / "r2"]
    assert config.data.dir == tmp_path / "d"


def test_a_time_limit_of_hooks_that_is_none_keeps_the_default() -> None:
    limits = load(
        "hooks: {defaults: {observer_timeout_ms: 7, interceptor_timeout_ms: 0, approval_timeout_ms: -1}}"
    ).hooks.defaults

    assert (limits.observer_timeout_ms, limits.interceptor_timeout_ms, limits.approval_timeout_ms) == (7, 5000, 60_000)


def test_defaults_count_from_the_working_directory() -> None:
    assert Config().skills.dir == Path("skills")


def test_a_tilde_is_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/parley")

    assert load("data: {dir: ~/d}\ntools: {roots: [~/r]}").data.dir == Path("/home/parley/d")
    assert load("tools: {roots: [~/r]}").tools.roots == [Path("/home/parley/r")]


# --- secrets ------------------------------------------------------------------------------------------------------

SECRET = "s3cret-value"


def test_a_secret_is_read_from_a_file_or_a_variable(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"  {SECRET}\n")
    Path("near").write_text(SECRET)

    from_file = load(f"llm: {{api_key: {{file: {tmp_path}/key}}}}")
    from_near = load("llm: {api_key: {file: near}}")
    from_env = load("llm: {api_key: {env: MY_KEY}}", {"MY_KEY": SECRET})
    in_variable = load("", {"PARLEY_LLM__API_KEY": "{env: MY_KEY}", "MY_KEY": SECRET})

    for config in (from_file, from_near, from_env, in_variable):
        assert config.llm.api_key is not None
        assert config.llm.api_key.reveal() == SECRET


def test_the_file_of_a_secret_counts_from_the_file_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("llm: {api_key: {file: key}}")
    (tmp_path / "key").write_text("outer")
    Path("key").write_text("inner")

    named = load_config(tmp_path / "p.yaml", {}).llm.api_key
    variable = load_config(tmp_path / "p.yaml", {"PARLEY_LLM__API_KEY": "{file: key}"}).llm.api_key

    assert named is not None
    assert named.reveal() == "outer"
    assert variable is not None
    assert variable.reveal() == "inner"


def test_any_string_may_be_given_so_also_in_lists_and_options() -> None:
    environ = {"A": "one", "B": "two"}

    config = load(
        "security: {hosts: [x, {env: A}]}\nllm: {options: {user: {env: B}, nested: {deep: {env: A}}}}", environ
    )

    assert config.security.hosts == ["x", "one"]
    assert config.llm.options == {"user": "two", "nested": {"deep": "one"}}


@pytest.mark.parametrize(
    "key", ["llm: {api_key: %s}", "llm: {base_url: %s}", "llm: {options: {user: %s}}", "security: {hosts: [%s]}"]
)
def test_no_secret_shows_itself(key: str) -> None:
    for config in (load(key % "{env: A}", {"A": SECRET}), load(key % SECRET)):
        for shown in (repr(config), str(config), repr(config.llm), repr(config.security), f"{config.llm}"):
            assert SECRET not in shown


def test_a_secret_shows_itself_to_nobody_who_does_not_ask() -> None:
    secret = Secret(SECRET)

    assert (repr(secret), str(secret), f"{secret}") == ("Secret(…)",) * 3
    assert secret.reveal() == SECRET
    with pytest.raises(TypeError):
        msgspec.json.encode(secret)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("log: {level: {env: A}}", "log.level: the value read from its file or variable is not valid here"),
        ("listen: {port: {env: A}}", "listen.port: the value read from its file or variable is not valid here"),
        (
            "skills: {enabled: {file: key}}",
            "skills.enabled: the value read from its file or variable is not valid here",
        ),
        ("skills: {enabled: {env: GONE}}", "skills.enabled: the environment variable GONE is not set"),
        ("llm: {api_key: {file: gone}}", "llm.api_key: cannot read the file gone"),
        ("llm: {api_key: {file: .}}", "llm.api_key: cannot read the file ."),
        ("llm: {api_key: {file: bytes}}", "llm.api_key: cannot read the file bytes"),
        ("llm: {api_key: {file: 5}}", "llm.api_key: {file: …} needs a name"),
        ("llm: {api_key: {env: [A]}}", "llm.api_key: {env: …} needs a name"),
        ("security: {hosts: [{env: GONE}]}", "security.hosts.0: the environment variable GONE is not set"),
    ],
)
def test_a_mistake_with_a_secret_names_the_key_and_never_the_value(text: str, told: str) -> None:
    Path("key").write_text(SECRET)
    Path("bytes").write_bytes(b"\xff")

    assert mistake(text, {"A": f"{SECRET} - at `$.agent.planning`"}) == told


def test_the_cause_of_a_mistake_is_not_chained_where_it_could_quote_a_secret() -> None:
    with pytest.raises(ConfigError) as caught:
        load("log: {level: {env: A}}", {"A": SECRET})

    assert caught.value.__suppress_context__
    assert caught.value.__cause__ is None


def test_a_mapping_with_more_than_the_one_key_is_no_reference() -> None:
    config = load("llm: {options: {a: {env: A, b: 1}}}")

    assert config.llm.options == {"a": {"env": "A", "b": 1}}


@pytest.mark.parametrize(
    ("text", "where", "is_there"),
    [
        ("tools: {mcp: {fs: {command: x, env: {env: prod}}}}", "tools.mcp.fs.env", {"env": "prod"}),
        ("tools: {mcp: {fs: {url: 'http://a', headers: {file: x}}}}", "tools.mcp.fs.headers", {"file": "x"}),
        ("hooks: {processes: {h: {command: [x], env: {file: y}}}}", "hooks.processes.h.env", {"file": "y"}),
        ("hooks: {processes: {h: {env: {A: x}}}}", "hooks.processes.h.env", {"A": "x"}),
        ("tools: {mcp: {file: {command: x}}}", "tools.mcp.file.command", "x"),
        ("hooks: {builtins: {env: {enabled: true}}}", "hooks.builtins.env.enabled", True),
        ("hooks: {processes: {h: {env: {A: {env: SET}}}}}", "hooks.processes.h.env", {"A": "from outside"}),
        (
            "hooks: {pre_tool_use: [{type: t, filter: {arguments: {env: 'prod*'}}}]}",
            "hooks.pre_tool_use.0.filter.arguments",
            {"env": "prod*"},
        ),
    ],
)
def test_where_an_object_is_wanted_env_and_file_are_its_keys(text: str, where: str, is_there: Any) -> None:
    found: Any = load(text, {"SET": "from outside"})
    for key in where.split("."):
        found = (
            found[int(key)]
            if isinstance(found, list)
            else found[key]
            if isinstance(found, dict)
            else getattr(found, key)
        )

    assert found == is_there


def test_a_variable_gives_a_program_of_the_file_its_environment() -> None:
    variables = {"PARLEY_TOOLS__MCP__FS__ENV": "{TOKEN: {env: A}}", "A": SECRET}
    config = load("tools: {mcp: {fs: {command: x}}}", variables)

    assert config.tools.mcp["fs"].env == {"TOKEN": SECRET}


def test_a_variable_names_one_variable_of_a_program_as_it_is_written() -> None:
    variables = {"PARLEY_TOOLS__MCP__FS__ENV__API_Token": "abc", "PARLEY_HOOKS__PROCESSES__LOG__ENV__Home": "/tmp"}
    config = load("{tools: {mcp: {fs: {command: x}}}, hooks: {processes: {log: {command: [x]}}}}", variables)

    assert config.tools.mcp["fs"].env == {"API_Token": "abc"}
    assert config.hooks.processes["log"].env == {"Home": "/tmp"}


# --- the settings themselves --------------------------------------------------------------------------------------


def sections(section: Any, path: str = "config") -> list[tuple[str, Any]]:
    found = [(path, section)]
    for field in msgspec.structs.fields(section):
        value = getattr(section, field.name)
        if isinstance(value, msgspec.Struct):
            found += sections(value, f"{path}.{field.name}")
    return found


@pytest.mark.parametrize(("path", "section"), sections(Config()), ids=[path for path, _ in sections(Config())])
def test_settings_are_frozen_and_refuse_unknown_keys(path: str, section: Any) -> None:
    kind = type(section).__struct_config__

    assert (kind.frozen, kind.forbid_unknown_fields) == (True, True), path


# --- who gets in --------------------------------------------------------------------------------------------------

TOKEN = "0123456789abcdef"
PROVIDER = "jwks_url: https://id.example/keys, audience: parley"


@pytest.mark.parametrize(
    ("security", "told"),
    [
        ("{tokens: [{user: anna, token: short}]}", "security.tokens[0]: token: at least 16 characters"),
        (f'{{tokens: [{{user: anna, token: "{TOKEN} {TOKEN}"}}]}}', "security.tokens[0]: token: at least 16"),
        (f'{{tokens: [{{user: "", token: {TOKEN}}}]}}', "security.tokens[0].user: expected `str` of length >= 1"),
        (f'{{tokens: [{{user: "a\\nb", token: {TOKEN}}}]}}', "security.tokens[0].user: expected `str` matching"),
        (f'{{tokens: [{{user: "a\\n", token: {TOKEN}}}]}}', "security.tokens[0].user: expected `str` matching"),
        (f"{{tokens: [{{user: a, token: {TOKEN}}}, {{user: b, token: {TOKEN}}}]}}", "security: tokens: two entries"),
        (
            f"{{tokens: [{{user: a, token: {TOKEN}, limits: {{connections: 0}}}}]}}",
            "security.tokens[0].limits.connections: expected `int` >= 1",
        ),
        (
            f"{{tokens: [{{user: a, token: {TOKEN}}}, {{user: a, token: {TOKEN}x, limits: {{turns: 9}}}}]}}",
            "security: tokens: all entries of one user must have the same limits",
        ),
        (f"{{auth: none, tokens: [{{user: a, token: {TOKEN}}}]}}", "security: auth: none lets in everybody"),
        (f"{{auth: none, jwt: {{{PROVIDER}}}}}", "security: auth: none lets in everybody"),
        ("{auth: token}", "security: auth: token needs tokens"),
        ("{auth: jwt}", "security: auth: jwt needs jwt"),
        (f"{{auth: jwt, tokens: [{{user: a, token: {TOKEN}}}]}}", "security: auth: jwt does not use tokens"),
        ("{jwt: {algorithms: [none]}}", "security.jwt.algorithms[0]: invalid enum value 'none'"),
        ("{jwt: {algorithms: []}}", "security.jwt.algorithms: expected `array` of length >= 1"),
        ("{jwt: {jwks_url: file:///etc/passwd, audience: a}}", "security.jwt.jwks_url: expected `str` matching"),
        ("{jwt: {jwks_url: https://id.example}}", "security.jwt: jwks_url needs an audience"),
        (f"{{jwt: {{{PROVIDER}, keys: [k]}}}}", "security.jwt: jwks_url or keys, not both"),
        (
            f"{{jwt: {{{PROVIDER}, algorithms: [HS256]}}}}",
            "security.jwt: algorithms: HS256 works only with a shared secret in keys",
        ),
        (
            "{jwt: {keys: [k], algorithms: [RS256, HS512]}}",
            "security.jwt: algorithms: HS512 works only with a shared secret in keys",
        ),
        ("{jwt: {keys: [sixteen-bytes-16], algorithms: [HS256]}}", "security.jwt: keys: a shared secret has at least"),
    ],
)
def test_a_way_in_that_would_not_guard_is_refused(security: str, told: str) -> None:
    text = mistake(f"security: {security}")

    assert text.startswith(told)
    assert TOKEN not in text
    assert "sixteen-bytes-16" not in text


def test_a_token_may_stand_in_a_file_or_a_variable() -> None:
    Path("token").write_text(f"{TOKEN}\n")
    text = "security: {tokens: [{user: a, token: {file: token}}, {user: b, token: {env: B}, operator: true}]}"

    entries = load(text, {"B": f"{TOKEN}2"}).security.tokens

    assert [(entry.user, entry.token.reveal(), entry.operator) for entry in entries] == [
        ("a", TOKEN, False),
        ("b", f"{TOKEN}2", True),
    ]
    assert TOKEN not in repr(entries)


@pytest.mark.parametrize("stage", ["pre_tool_use", "post_tool_use", "tool_error", "tool_skip"])
def test_no_secret_can_stand_in_a_policy_that_every_user_may_read(stage: str) -> None:
    handlers = f"{stage}: [{{type: notify, config: {{key: {{env: A}}}}}}]"
    told = f"hooks.{stage}.0.config.key: every user may read the policy"

    assert mistake(f"hooks: {{{handlers}}}", {"A": SECRET}).startswith(told)
    variable = {f"PARLEY_HOOKS__{stage.upper()}": "[{type: notify, config: {key: {env: A}}}]", "A": SECRET}
    assert mistake("", variable).startswith(told)
