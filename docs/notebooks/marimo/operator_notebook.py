import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo


@app.cell
def _():
    mo.md("# Notebook: an operator\n\nA collector is one process and one folder. This notebook starts one on this machine, sends reports, watches it, and stops it.")


@app.cell
def _():
    import json
    import subprocess
    import sys
    import urllib.request
    from pathlib import Path
    from tempfile import mkdtemp

    import tacit as tc

    folder = Path(mkdtemp())
    collection = tc.Collection(tc.Schema([tc.Service("users", key="uid", attributes=[tc.Ordinal("age", low=0, high=9)])]), epsilon=2.0)
    (folder / "contract.json").write_text(collection.to_json())
    words = [sys.executable, "-m", "tacit.cli", "serve", str(folder / "store"), str(folder / "contract.json"), "--port", "0"]
    serving = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    address = serving.stdout.readline().split()[-1]
    print(address)


@app.cell
def _():
    mo.md("Send a report, as a client does.")


@app.cell
def _():
    from tacit.client import connect

    client = connect(address, collection=collection.id, store=folder / "wallet.db", cap=4, every=0)
    client.person("u-1").record("users", {"age": 4})
    delivery = client.flush()
    client.close()
    print(delivery)
    assert delivery.sent == 1


@app.cell
def _():
    mo.md("`/healthz` says that the process responds, `/readyz` that it can store and answer; `/metrics` is for Prometheus.")


@app.cell
def _():
    def read(path):
        with urllib.request.urlopen(address + path) as answer:
            return answer.read().decode()


    print(json.loads(read("/readyz")))
    stored = [line for line in read("/metrics").splitlines() if line.startswith("tacit_stored_total")]
    print(stored)
    assert [float(line.split()[-1]) for line in stored] == [1]


@app.cell
def _():
    mo.md("Ask through the collector, and stop it. No acknowledged report depends on a clean end.")


@app.cell
def _():
    print(tc.connect(address).sql("SELECT COUNT(*) AS n FROM users"))
    serving.terminate()
    ended = serving.wait(30)
    serving.stdout.close()
    print("exit code", ended)


@app.cell
def _():
    mo.md("Keys, TLS, backups and codes: the operator's guide and deployment.")


if __name__ == "__main__":
    app.run()
