import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo


@app.cell
def _():
    mo.md("# Notebook: an app developer\n\nWhat a device does, without a server: validate a contract, perturb a record, and show what leaves.")


@app.cell
def _():
    import tacit as tc
    from tacit.client import Interpreter
    from tacit.testing import __all__ as helpers

    users = tc.Service("users", key="uid", attributes=[tc.Ordinal("age", low=0, high=124), tc.Categorical("plan", values=["free", "pro"])])
    collection = tc.Collection(tc.Schema([users]), epsilon=2.0, round="2026-11")
    contract = collection.to_json()  # what a collector publishes
    print(len(contract), "bytes;", "id", collection.id[:12], "…;", "helpers for your tests:", ", ".join(helpers))


@app.cell
def _():
    mo.md("A client reads the contract alone, with the standard library. It refuses one that breaks a rule.")


@app.cell
def _():
    interpreter = Interpreter(contract)
    draws = list(range(1, interpreter.draws("users") + 1))  # fixed, to show; real clients draw from the operating system
    code = interpreter.encode("users", {"age": 41, "plan": "pro"}, draws)
    print("all that leaves:", code)


@app.cell
def _():
    mo.md("The same code could come from anybody: that is the protection. Here are records that give the same code for some draws.")


@app.cell
def _():
    import random

    source = random.Random(3)
    makes = set()
    for _ in range(4_000):
        record = {"age": source.randrange(125), "plan": source.choice(["free", "pro"])}
        if interpreter.encode("users", record, [source.randrange(2**53) for _ in draws]) == code:
            makes.add(tuple(record.values()))
    print(len(makes), "different records gave this code in 4,000 tries")


@app.cell
def _():
    mo.md("A wrong value is refused before anything is drawn, and the error never shows it.")


@app.cell
def _():
    refused = ""
    try:
        interpreter.encode("users", {"age": 400, "plan": "pro"}, draws)
    except tc.TacitError as problem:
        refused = problem.code
    print(refused)
    assert refused == "outside-domain"


@app.cell
def _():
    mo.md("In an app you call `tacit.client.connect`, which adds the wallet, the cap and delivery: see the guide.")


if __name__ == "__main__":
    app.run()
