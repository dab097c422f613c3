import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo


@app.cell
def _():
    mo.md("# Notebook: a data scientist\n\nYou get estimates instead of rows. This notebook shows what changes in your work: every number has an error, errors follow through your arithmetic, and a comparison is a question of its own.")


@app.cell
def _():
    import tacit as tc
    from tacit.datasets import town, town_schema

    collection = tc.Collection(town_schema(), epsilon=4.0)
    db = tc.connect()
    db.create(collection)
    db.load(collection.encode(**town(5_000), rng=tc.insecure_rng(5)))  # a fixed seed: your numbers are ours


@app.cell
def _():
    mo.md("A question is SQL. The answer is a table of estimates, as a frame or as a chart.")


@app.cell
def _():
    regions = db.sql("SELECT region, COUNT(*) AS people, AVG(age) AS age FROM shop GROUP BY region")
    frame = regions.to_pandas()
    print(frame)
    assert {"region", "people", "people_low", "people_high"} <= set(frame.columns)


@app.cell
def _():
    mo.md("Estimates know their covariance, so a difference of two has the right error. Never subtract the columns of a frame: the interval of a difference is not the difference of intervals.")


@app.cell
def _():
    both = db.sql("SELECT COUNT(*) AS everybody, COUNT(*) FILTER (WHERE age >= 65) AS old FROM shop")
    share = both["old"] / both["everybody"]
    print(f"{share.value:.3f} between {share.low:.3f} and {share.high:.3f}")
    assert share.low < 0.5


@app.cell
def _():
    mo.md("Look at the interval before you look at the value. If it holds zero, not even the sign is known.")


@app.cell
def _():
    rare = db.sql("SELECT COUNT(*) AS n FROM shop WHERE age = 89")["n"]
    print(rare, "too noisy to tell" if rare.low <= 0 <= rare.high else "")


@app.cell
def _():
    mo.md("For models, ask for a marginal or for synthetic rows, which are made from the reports alone. They carry the noise: what you fit to them has its uncertainty, too.")


@app.cell
def _():
    rows = db.synthesize(1_000, service="clinic", seed=6)
    print(rows.slice(0, 3).to_pydict())
    assert rows.num_rows == 1_000


if __name__ == "__main__":
    app.run()
