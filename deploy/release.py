"""Build all that is published into a folder, twice, and refuse what differs: `python -m deploy.release dist`.

Wheel and sdist, the npm package, lists of what they are made of (SBOM, CycloneDX), known vulnerabilities of those,
checksums. What is built is what is committed; times are those of the commit.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["build", "main", "sboms", "vulnerabilities"]

ROOT = Path(__file__).parents[1]
NPM_FOLDERS = ("sdk/typescript", "web")


def main(folder: Path) -> int:
    """Build, describe and check everything; return 1 if something must not be published."""
    if _run("git", "status", "--porcelain", where=ROOT).strip():
        print("The working tree has changes that are not committed; the release has what is committed.")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as temporary:
        builds = [build(Path(temporary) / name) for name in ("first", "second-in-a-longer-path")]
        if differing := _differences(*builds):
            print(f"Two builds differ: {', '.join(differing)}. Nothing was released.")
            return 1
        for file in builds[0].iterdir():
            shutil.copy(file, folder)
    for name, bom in sboms(ROOT).items():
        (folder / name).write_text(json.dumps(bom, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    digests = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in sorted(folder.iterdir())]
    (folder / "SHA256SUMS").write_text("".join(digests), encoding="utf-8")
    print("".join(digests) + "Two builds gave the same bytes.")
    found = vulnerabilities(ROOT)
    for line in found.values():
        print(line)
    return int(any("FOUND" in line for line in found.values()))


def build(place: Path, *, npm: bool = True) -> Path:
    """Check out what is committed into a new folder, build it there, and return the folder of packages."""
    source, out = place / "source", place / "packages"
    for made in (source, out):
        made.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "--extract"], cwd=source, input=archive, check=True)
    times = {"SOURCE_DATE_EPOCH": _run("git", "log", "-1", "--format=%ct", where=ROOT).strip()}
    _run(sys.executable, "-m", "hatchling", "build", "--directory", str(out), where=source, **times)
    _refuse_other_wheel(out, place / "unpacked", times)
    if npm:
        _run("npm", "pack", "--pack-destination", str(out), where=source / "sdk" / "typescript", **times)
    return out


def _refuse_other_wheel(out: Path, unpacked: Path, times: Mapping[str, str]) -> None:
    """Refuse an sdist that makes another wheel than the repository: whoever installs from it would get that."""
    [wheel], [sdist] = out.glob("*.whl"), out.glob("*.tar.gz")
    with tarfile.open(sdist) as file:
        file.extractall(unpacked, filter="data")
    [source] = unpacked.iterdir()
    _run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(unpacked), where=source, **times)
    if (unpacked / wheel.name).read_bytes() != wheel.read_bytes():
        message = "The wheel made from the sdist differs from the one made from the repository."
        raise SystemExit(message)


def sboms(root: Path) -> dict[str, Any]:
    """Return what the packages and the tools that build them are made of, by the name of a file."""
    words = ("requirements", str(root / "requirements" / "image.lock"), "--pyproject", str(root / "pyproject.toml"))
    options = ("--output-format", "JSON", "--output-reproducible", "--mc-type", "library")
    boms = {"python": json.loads(_run(sys.executable, "-m", "cyclonedx_py", *words, *options, where=root))}
    for folder in NPM_FOLDERS:
        text = _run("npm", "sbom", "--sbom-format=cyclonedx", "--package-lock-only", where=root / folder)
        bom = json.loads(text)
        bom.pop("serialNumber", None)  # this and the time differ from build to build
        bom["metadata"].pop("timestamp", None)
        boms[folder.replace("/", "-")] = bom
    return {f"sbom-{name}.cdx.json": bom for name, bom in boms.items()}


def vulnerabilities(root: Path) -> dict[str, str]:
    """Return a line for each list of packages: none known, found, or no database."""
    audits = {"requirements/image.lock": (root, _audit_python(root))}
    audits |= {folder: (root / folder, ["npm", "audit", "--json"]) for folder in NPM_FOLDERS}
    return {name: f"{name}: {_verdict(words, where)}" for name, (where, words) in audits.items()}


def _audit_python(root: Path) -> list[str]:
    words = [
        "-r",
        str(root / "requirements" / "image.lock"),
        "--require-hashes",
        "--disable-pip",
        "-f",
        "json",
        "-s",
        "osv",
    ]
    return [sys.executable, "-m", "pip_audit", "--progress-spinner=off", *words]


def _verdict(words: list[str], where: Path) -> str:
    """Return what an audit says: a result that can be read, or that there is no database."""
    result = subprocess.run(words, cwd=where, capture_output=True, text=True, check=False)
    try:
        data = json.loads(result.stdout)
    except json.JSONDecodeError:
        return "not scanned: no database of vulnerabilities could be reached"
    if "dependencies" in data:
        unknown = [one["name"] for one in data["dependencies"] if "skip_reason" in one]
        known = [f"{one['name']} {flaw['id']}" for one in data["dependencies"] for flaw in one.get("vulns", [])]
        if unknown:
            return f"not scanned: the database does not know {len(unknown)} packages"
    elif "metadata" in data:
        known = sorted(data.get("vulnerabilities", {}))
    else:
        return "not scanned: no database of vulnerabilities could be reached"
    return f"FOUND {', '.join(known)}" if known else "no known vulnerability"


def _differences(first: Path, second: Path) -> list[str]:
    names = sorted({path.name for folder in (first, second) for path in folder.iterdir()})
    return [name for name in names if not _same(first / name, second / name)]


def _same(first: Path, second: Path) -> bool:
    return first.exists() and second.exists() and first.read_bytes() == second.read_bytes()


def _run(*words: str, where: Path, **variables: str) -> str:
    environment = os.environ | {"CI": "1", "NO_UPDATE_NOTIFIER": "1"} | variables
    result = subprocess.run(words, cwd=where, env=environment, capture_output=True, text=True, check=False)
    if result.returncode:
        message = f"{' '.join(words)} failed:\n{result.stdout[-2000:]}\n{result.stderr[-2000:]}"
        raise SystemExit(message)
    return result.stdout


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "dist")))
