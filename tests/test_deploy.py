"""deploy/: every file is what its reader takes it for. Nothing is built or started; that needs a registry."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from scripts import vendor
from server.accounts.accounts import Accounts
from server.config import Config
from server.config_file import load_config
from server.gateway.auth import Authenticator
from tests.support.page_sessions import MemorySessions

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "deploy"
SECRETS = {
    "signing_keys": "a-key-that-is-long-enough-for-us",
    "operator_token": "an-operators-token-0123456789",
    "metrics_token": "a-token-for-prometheus-0123456789",
    "database_url": "postgresql://parley:x@database/parley",
}
COMPOSE_SECRETS = {"signing_keys", "operator_token", "database_url", "database_password"}


def documents(name: str) -> list[Any]:
    return [found for found in yaml.safe_load_all((DEPLOY / name).read_text("utf-8")) if found is not None]


def of_kind(kind: str) -> Any:
    [found] = [document for document in documents("kubernetes/parley.yaml") if document["kind"] == kind]
    return found


def configurations() -> Iterator[tuple[str, str]]:
    yield "compose", (DEPLOY / "compose/parley.yaml").read_text("utf-8")
    yield "kubernetes", of_kind("ConfigMap")["data"]["parley.yaml"]


@pytest.fixture(params=list(configurations()), ids=lambda given: given[0])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Config:
    """As the server reads it in its container, the secrets standing elsewhere."""
    text: str = request.param[1]
    for name, secret in SECRETS.items():
        (tmp_path / name).write_text(f"{secret}\n")
        text = re.sub(rf"/[\w/-]+/{name}\b", str(tmp_path / name), text)
    (tmp_path / "parley.yaml").write_text(text)
    return load_config(tmp_path / "parley.yaml", {"PARLEY_SECURITY__TRUST_LOOPBACK": "false"})


def test_the_server_takes_the_configuration_and_asks_everybody_who_they_are(settings: Config) -> None:
    accounts = Accounts(settings.security, [b"a key"], MemorySessions())
    Authenticator(settings.listen, settings.security, settings.proxies, accounts)

    assert settings.listen.host == "0.0.0.0"
    assert settings.security.trust_loopback is False
    assert settings.security.auth == "auto"
    assert settings.security.tokens[0].user == "operator"
    assert all(entry.operator for entry in settings.security.tokens)
    assert settings.proxies
    assert settings.storage.url is not None


@pytest.mark.parametrize(
    "name",
    ["Containerfile", "compose/parley.yaml", "compose/compose.yaml", "kubernetes/parley.yaml", "systemd/parley.yaml"],
)
def test_no_file_takes_loopback_for_the_own_machine(name: str) -> None:
    text = (DEPLOY / name).read_text("utf-8")

    assert re.search(r"trust_loopback: false|TRUST_LOOPBACK(=|: |, value: )\"?false", text)
    assert not re.search(r"(?i)trust_loopback\W+(value\W+)?true", text)


@pytest.mark.parametrize("path", sorted(DEPLOY.rglob("*.*")), ids=lambda path: str(path.relative_to(DEPLOY)))
def test_no_file_holds_a_secret(path: Path) -> None:
    assert not re.search(r"(?i)(password|token|secret)\w*\s*[:=]\s*[\"']?[A-Za-z0-9_-]{16,}", path.read_text("utf-8"))


def test_the_image_is_made_from_what_is_here_and_the_lock_alone() -> None:
    text = (DEPLOY / "Containerfile").read_text("utf-8")
    copied = re.findall(r"(?m)^COPY (?!--from)(.+) \S+$", text)

    for source in " ".join(copied).split():
        assert (ROOT / source).exists(), source
    assert "--no-deps --require-hashes" in " ".join(text.replace("\\\n", " ").split())
    assert re.search(r"(?m)^USER [1-9]", text), "not as root"
    taken = set(re.findall(r"(?m)^!(\S+)", (DEPLOY / "Containerfile.dockerignore").read_text("utf-8")))
    assert taken == {source for line in copied for source in line.split()}
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests", "scripts", "benchmarks"}
    assert packages <= set(re.findall(r"(?m)^COPY (\w+) ", text)), "every package of ours is in it"


def test_the_image_has_what_the_page_loads_from_packages() -> None:
    text = (DEPLOY / "Containerfile").read_text("utf-8")
    targets = {target for files in vendor.copied().values() for target in files.values()}
    loaded = {
        name
        for path in (ROOT / "frontend/js").rglob("*.js")
        for name in re.findall(r"(?:\$\{VENDOR\}|/vendor/)([\w.-]+(?:/[\w.-]+)?\.(?:js|css))", path.read_text("utf-8"))
    }

    assert {"temml.js", "pdf.js", "codemirror/codemirror-view.js"} <= loaded <= targets
    assert "RUN python scripts/vendor.py" in text
    assert "COPY --from=page /build/frontend/vendor /srv/parley/frontend/vendor" in text


def test_compose_names_no_volume_secret_or_network_that_is_not_there() -> None:
    [compose] = documents("compose/compose.yaml")

    for name, service in compose["services"].items():
        assert set(service.get("secrets", [])) <= compose["secrets"].keys(), name
        assert set(service["networks"]) <= compose["networks"].keys(), name
        for volume in service["volumes"]:
            source = volume.partition(":")[0]
            if source.startswith("."):
                assert (DEPLOY / "compose" / source).exists(), source
            else:
                assert source in compose["volumes"], source
    assert {Path(entry["file"]).name for entry in compose["secrets"].values()} == COMPOSE_SECRETS


def test_only_the_proxy_of_compose_can_be_reached_and_it_is_the_one_that_is_trusted() -> None:
    [compose] = documents("compose/compose.yaml")
    [network] = compose["networks"]["inside"]["ipam"]["config"]

    assert [name for name, service in compose["services"].items() if "ports" in service] == ["proxy"]
    assert yaml.safe_load((DEPLOY / "compose/parley.yaml").read_text("utf-8"))["proxies"] == [network["subnet"]]


def test_the_parts_of_kubernetes_find_each_other() -> None:
    pod = of_kind("Deployment")["spec"]["template"]
    [container] = pod["spec"]["containers"]
    volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}

    assert {mount["name"] for mount in container["volumeMounts"]} == volumes.keys()
    assert volumes["config"]["configMap"]["name"] == of_kind("ConfigMap")["metadata"]["name"]
    for kind in ("Deployment", "PodDisruptionBudget"):
        assert of_kind(kind)["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    service = of_kind("Service")
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    [port] = container["ports"]
    assert [entry["targetPort"] for entry in service["spec"]["ports"]] == [port["name"]]
    [rule] = of_kind("Ingress")["spec"]["rules"]
    backend = rule["http"]["paths"][0]["backend"]["service"]
    assert (backend["name"], backend["port"]["name"]) == (
        service["metadata"]["name"],
        service["spec"]["ports"][0]["name"],
    )
    assert rule["host"] in of_kind("ConfigMap")["data"]["parley.yaml"]
    mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
    for path in re.findall(r"file: (/[\w/-]+)/\w+", of_kind("ConfigMap")["data"]["parley.yaml"]):
        assert path in mounts, path


def test_the_shared_volume_that_is_commented_out_is_complete() -> None:
    text = (DEPLOY / "kubernetes/parley.yaml").read_text("utf-8")
    text = re.sub(r"(?m)^ +- \{name: media, emptyDir: .*\n", "", text)
    chosen = re.sub(
        r"(?m)^( *)# (?=- \{name: media|apiVersion: v1$|kind: |metadata: |spec:$|  \w+: |---$)", r"\1", text
    )
    found = {document["kind"]: document for document in yaml.safe_load_all(chosen) if document is not None}

    claim = found["PersistentVolumeClaim"]
    [media] = [
        volume for volume in found["Deployment"]["spec"]["template"]["spec"]["volumes"] if volume["name"] == "media"
    ]
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    assert media["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    assert found.keys() == {document["kind"] for document in documents("kubernetes/parley.yaml")} | {claim["kind"]}


def test_prometheus_finds_the_pods_and_its_token() -> None:
    [monitor] = documents("kubernetes/podmonitor.yaml")
    pod = of_kind("Deployment")["spec"]["template"]
    [endpoint] = monitor["spec"]["podMetricsEndpoints"]
    credentials = endpoint["authorization"]["credentials"]
    [secret] = [volume["secret"] for volume in pod["spec"]["volumes"] if "secret" in volume]

    assert monitor["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    assert endpoint["port"] in [port["name"] for port in pod["spec"]["containers"][0]["ports"]]
    assert credentials["name"] == secret["secretName"]
    configured = yaml.safe_load(of_kind("ConfigMap")["data"]["parley.yaml"])["security"]["tokens"]
    assert credentials["key"] in [Path(entry["token"]["file"]).name for entry in configured if entry["operator"]]


def test_the_readme_makes_every_secret_and_the_token_that_prometheus_sends_has_no_line_end() -> None:
    made = {
        name: command for command, name in re.findall(r"(?m)^(.*) >(\w+)", (DEPLOY / "README.md").read_text("utf-8"))
    }

    assert made.keys() == {*SECRETS, *COMPOSE_SECRETS}
    assert "end=''" in made["metrics_token"]


def test_an_ingress_asks_the_next_replica_when_one_refuses() -> None:
    annotations = of_kind("Ingress")["metadata"]["annotations"]

    assert annotations["nginx.ingress.kubernetes.io/proxy-next-upstream"] == "error timeout http_503"


def test_the_operations_page_quotes_the_nginx_file() -> None:
    page = (ROOT / "docs/operations.md").read_text("utf-8")
    [block] = re.findall(r"(?s)```nginx\n(.*?)```", page)
    site = (DEPLOY / "nginx/parley.conf").read_text("utf-8")

    for line in block.split("\n"):
        assert line == "…" or line.strip() in site, line


def test_caddy_holds_clients_while_the_server_restarts() -> None:
    text = (DEPLOY / "compose/Caddyfile").read_text("utf-8")

    assert re.search(r"(?m)^\s+lb_policy least_conn$", text)
    assert re.search(r"(?m)^\s+lb_try_duration \d+s$", text)


def test_replicas_are_spread_over_nodes() -> None:
    pod = of_kind("Deployment")["spec"]["template"]
    [constraint] = pod["spec"]["topologySpreadConstraints"]

    assert constraint["topologyKey"] == "kubernetes.io/hostname"
    assert constraint["labelSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()


def test_whoever_stops_the_server_waits_longer_than_its_turns_may_take() -> None:
    drain_s = Config().listen.drain_s
    [compose] = documents("compose/compose.yaml")

    pod = of_kind("Deployment")["spec"]["template"]["spec"]
    [program, sleep_s] = pod["containers"][0]["lifecycle"]["preStop"]["exec"]["command"]
    assert program == "sleep"
    assert int(sleep_s) >= 5, "Ingress controllers need a moment to notice"
    assert pod["terminationGracePeriodSeconds"] > int(sleep_s) + drain_s
    assert int(compose["services"]["parley"]["stop_grace_period"].removesuffix("s")) > drain_s
