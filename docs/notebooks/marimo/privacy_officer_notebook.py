import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo


@app.cell
def _():
    mo.md("# Notebook: a privacy officer\n\nYou do not have to believe a claim about epsilon: you can compute it, in fractions, from the contract that devices use.")


@app.cell
def _():
    import math

    import tacit as tc

    users = tc.Service("users", key="uid", attributes=[tc.Ordinal("age", low=0, high=9), tc.Public("os")])
    clinic = tc.Service("clinic", key="uid", attributes=[tc.Ordinal("visits", low=0, high=4)])
    collection = tc.Collection(tc.Schema([users, clinic]), epsilon=1.0, round="2026-11")
    print(collection.audit())


@app.cell
def _():
    mo.md("The loss is over *all* services together, for the worst pair of records. In words:")


@app.cell
def _():
    loss = collection.audit().worst_loss
    print(f"whoever is 50 % sure of a fact about you that is not public becomes at most {math.ceil(1000 / (1 + math.exp(-loss))) / 10} % sure")
    assert loss <= 1.0


@app.cell
def _():
    mo.md("Compute it once more by hand, for one channel: the probability of each code given each value is a fraction whose denominator is a power of two.")


@app.cell
def _():
    [channel] = collection.contract["clinic"].channels
    worst = 0.0
    for view in channel.views:
        oracle = view.oracle  # here grr: the true cell with probability keep, each other one with probability lie
        worst = max(worst, math.log(oracle.keep / oracle.lie))
    print("largest loss of a report to the clinic, by hand:", round(worst, 6), "of its budget", float(channel.epsilon))
    assert worst <= channel.epsilon


@app.cell
def _():
    mo.md("What changes between two versions of a collection, and what it costs:")


@app.cell
def _():
    more = tc.Collection(tc.Schema([users, clinic]), epsilon=2.0, round="2026-12")
    print(collection.diff(more))


@app.cell
def _():
    mo.md("Public columns are outside the guarantee: the key, and here `os`. Evidence that a third party can check again is one command, `tacit audit --report`.")


if __name__ == "__main__":
    app.run()
