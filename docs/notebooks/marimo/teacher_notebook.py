import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo


@app.cell
def _():
    mo.md("# Notebook: a teacher\n\nRandomised response in a class: ask something embarrassing and learn the share, although no single answer proves anything.\n\nEverybody tosses two coins. Heads on the first: answer truthfully. Tails: answer what the second coin says. A \"yes\" then proves nothing about whoever gave it.")


@app.cell
def _():
    import numpy as np

    source = np.random.default_rng(1)
    truth = source.random(200) < 0.3  # 30 % have copied homework; nobody knows who
    honest, coin = source.random((2, 200)) < 0.5
    said = np.where(honest, truth, coin)
    print(f"{said.mean():.2f} said yes")


@app.cell
def _():
    mo.md("Half of the answers are coins, which say yes half of the time. So the share of \"yes\" is 1/4 + share/2, and we can solve for the share.")


@app.cell
def _():
    estimate = 2 * (said.mean() - 0.25)
    spread = 2 * np.sqrt(said.mean() * (1 - said.mean()) / 200)
    print(f"estimated share {estimate:.2f} ± {1.96 * spread:.2f}; the truth is {truth.mean():.2f}")


@app.cell
def _():
    mo.md("How much does a \"yes\" reveal? It is at most three times as likely from somebody who copied as from somebody who did not: epsilon is ln 3, about 1.1.")


@app.cell
def _():
    import tacit as tc

    answer = tc.Categorical("copied", values=["no", "yes"])
    collection = tc.Collection(tc.Schema([tc.Service("class_", key="uid", attributes=[answer])]), epsilon="1.0986")
    print(collection.audit())


@app.cell
def _():
    mo.md("tacit does the same with any number of values and columns. The more people, the better: watch the error fall with the square root.")


@app.cell
def _():
    for people in (200, 2_000, 20_000):
        table = {"uid": range(people), "copied": np.where(source.random(people) < 0.3, "yes", "no")}
        db = tc.connect()
        db.create(collection)
        db.load(collection.encode(class_=table, rng=tc.insecure_rng(people)))
        share = db.sql("SELECT AVG(CASE WHEN copied = 'yes' THEN 1 ELSE 0 END) AS share FROM class_")["share"]
        print(f"{people:>6} people: {share.value:.2f} between {share.low:.2f} and {share.high:.2f}")


@app.cell
def _():
    mo.md("Questions for the class. What happens if everybody answers twice, with new coins? Why must a device draw only once? What would you believe about a person's answer if only one in ten tossed the coins?")


if __name__ == "__main__":
    app.run()
