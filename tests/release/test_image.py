"""The container image and its neighbours: no engine runs here, so they are linted, and their steps run in a folder."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.release import build
from tacit.cli.command import parser

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


def instructions() -> list[tuple[str, str]]:
    """Return the Dockerfile's instructions, continued lines joined."""
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", "")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(name, " ".join(rest.split())) for name, _, rest in (line.partition(" ") for line in lines)]


def compose(name: str = "compose.yaml") -> dict[str, Any]:
    return dict(yaml.safe_load((DEPLOY / name).read_text())["services"])


def test_the_dockerfile_passes_its_linter() -> None:
    linter = Path(sys.executable).with_name("hadolint")
    result = subprocess.run([linter, DEPLOY / "Dockerfile"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout


def test_the_image_has_no_root_and_a_health_check() -> None:
    last = [step for step in instructions() if step[0] in ("USER", "ENTRYPOINT", "CMD", "HEALTHCHECK")]
    assert ("USER", "10001") in last
    assert last.index(("USER", "10001")) < [name for name, _ in last].index("ENTRYPOINT")
    assert "HEALTHCHECK" in dict(last)


def test_every_service_is_read_only_pinned_and_without_rights() -> None:
    for name, service in (*compose().items(), *compose("compose-fleet.yaml").items()):
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert name.startswith("collector") or re.search(r":v?\d", service["image"]), f"{name} has no version"


def test_the_commands_of_image_and_compose_file_are_ones_of_tacit() -> None:
    starts = [json.loads(rest) for name, rest in instructions() if name == "CMD"] + [compose()["collector"]["command"]]
    for words in starts:
        assert parser().parse_args(words).folder == "/data"


def test_a_fleet_has_three_collectors_that_share_a_store_and_drain() -> None:
    services = compose("compose-fleet.yaml")
    chosen = [parser().parse_args(services[f"collector{number}"]["command"]) for number in (1, 2, 3)]
    assert {one.folder for one in chosen} == {"postgresql://tacit@database/tacit"}
    assert all(one.drain_seconds > 0 for one in chosen)
    proxy = (DEPLOY / "nginx-fleet.conf").read_text()
    assert all(f"server collector{number}:8765" in proxy for number in (1, 2, 3))


def test_alerts_and_dashboard_use_metrics_and_codes_that_exist() -> None:
    rules = yaml.safe_load((DEPLOY / "prometheus" / "tacit.rules.yaml").read_text())["groups"][0]["rules"]
    panels = json.loads((DEPLOY / "grafana" / "collectors.json").read_text())["panels"]
    asked = [rule["expr"] for rule in rules] + [one["expr"] for panel in panels for one in panel["targets"]]
    page = (ROOT / "docs" / "deployment.md").read_text()
    known = set(re.findall(r"`(tacit_[a-z_]+)`", page))
    used = {name.removesuffix("_bucket") for text in asked for name in re.findall(r"tacit_[a-z_]+", text)}
    assert len(used) > 8
    assert used <= known
    errors = (ROOT / "docs" / "reference" / "errors.md").read_text()
    codes = {code for text in asked for codes in re.findall(r'code=~?"([^"]+)"', text) for code in codes.split("|")}
    assert {"over-quota", "lease-lost"} <= codes
    assert not [code for code in codes if f"`{code}`" not in errors]
    assert all(rule["annotations"]["action"] for rule in rules)


def test_files_that_the_compose_file_mounts_exist_or_are_explained() -> None:
    readme = (DEPLOY / "README.md").read_text()
    mounts = [
        str(mount)
        for name in ("compose.yaml", "compose-fleet.yaml")
        for service in compose(name).values()
        for mount in service.get("volumes", [])
    ]
    for place in {mount.partition(":")[0] for mount in mounts if mount.startswith("./")}:
        assert (DEPLOY / place).exists() or place.removeprefix("./") in readme, place


def test_the_proxy_opens_what_the_deployment_page_opens() -> None:
    page, proxy = (ROOT / "docs" / "deployment.md").read_text(), (DEPLOY / "nginx.conf").read_text()
    [opened] = re.findall(r"location ~ (\S+) \{", proxy)
    assert opened in re.findall(r"location ~ (\S+) \{", page)
    assert "access_log off;" in proxy


@pytest.mark.long("the steps of the container image in an empty folder, and its health check")
def test_the_images_steps_make_a_collector_that_is_healthy(tmp_path: Path) -> None:
    """Paths of the image lie in a folder here, and nobody is added to this machine; else as written."""
    stage, context = tmp_path / "image", tmp_path / "context"
    shutil.copytree(build(tmp_path / "built", npm=False), context / "dist")
    shutil.copytree(ROOT / "requirements", context / "requirements")
    (stage / "build").mkdir(parents=True)
    here = lambda text: re.sub(r"(?<![\w.])/(tacit|build|data)\b", rf"{stage}/\1", text)  # noqa: E731
    for name, rest in instructions():
        if name == "COPY" and not rest.startswith("--from"):
            for pattern in rest.split()[:-1]:
                for path in context.glob(pattern):
                    shutil.copy(path, stage / "build")
        if name == "RUN" and "useradd" not in rest:
            script = here(rest).replace("python -m venv", f"{sys.executable} -m venv")
            subprocess.run(["sh", "-ec", script], cwd=stage / "build", check=True, capture_output=True)
    toml = stage / "collection.toml"
    tacit = str(stage / "tacit" / "bin" / "tacit")
    subprocess.run([tacit, "init", str(toml)], check=True, capture_output=True)
    subprocess.run(
        [tacit, "keys", str(stage / "data"), "create", "a", "--scope", "query"], check=True, capture_output=True
    )
    [command] = [json.loads(rest) for name, rest in instructions() if name == "CMD"]
    words = [here(word).replace("/etc/tacit/collection.toml", str(toml)) for word in command]
    [health] = [json.loads(rest.partition("CMD ")[2]) for name, rest in instructions() if name == "HEALTHCHECK"]
    with subprocess.Popen(
        [tacit, *words, "--host", "127.0.0.1", "--port", "0"], stdout=subprocess.PIPE, text=True
    ) as serving:
        assert serving.stdout is not None
        port = serving.stdout.readline().rpartition(":")[2].strip()
        check = [sys.executable, *[word.replace("8765", port) for word in health[1:]]]
        begun = time.monotonic()
        while subprocess.run(check, capture_output=True, check=False).returncode:
            assert time.monotonic() < begun + 60, "the health check never passes"
        serving.terminate()
        serving.wait(30)
        assert subprocess.run(check, capture_output=True, check=False).returncode, "a stopped collector passes"
