"""Shrink what is mostly noise: interactions towards independence, as far as the data suggest.

An interaction of a set of attributes is its **joint cumulant**: the mean of a product of functions, minus what smaller
sets predict of it. For two attributes that is the covariance; divided by both standard deviations it is a correlation.
Most correlations of many attributes are near zero, few are large, and the noise of each is known. Their distribution is
fitted as a mixture of normal distributions of several widths around zero, one of them of width zero, by maximum
likelihood (expectation maximisation), for each number of attributes by itself; every correlation is then replaced by
its mean given its estimate. With much noise this is independence, with little it changes nothing.

One-way frequencies of many attributes of one size (items bought or not) have a distribution, too: it is fitted as point
masses on a grid, by maximum likelihood, and each frequency is replaced by its mean given its estimate. Few attributes
say too little about it and stay as they are.

Reference   Stephens 2017, False discovery rates: a new deal (interactions); Jiang and Zhang 2009, General maximum
            likelihood empirical Bayes estimation of normal means (frequencies).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np

from tacit.model.basis import Array, analysis, functions
from tacit.model.coefficients import Coefficients, Index, along
from tacit.model.nonnegative import norm_sub

__all__ = ["fitted_means", "informs_beyond_pairs", "kept_share", "posterior_means", "shrunk"]

WIDTHS = 12
"""Widths of the mixture of interactions."""

POINTS = 60
"""Point masses of the distribution of frequencies."""

ALIKE = 8
"""Attributes of one size from which their frequencies are fitted together."""

ROUNDS = 80
"""Iterations of expectation maximisation: the posterior means hardly move after half of them."""

SMALL = 1e-9


def shrunk(means: Coefficients) -> Coefficients:
    """Return the means, with those of alike attributes and then interactions shrunk; variances are what remains."""
    means = _alike(means)
    shape, values = means.shape, means.values.copy()
    variances = np.broadcast_to(means.variances, values.shape).copy()
    spreads = {i: _spread(means, i) for (i,) in (one for one in shape.places if len(one) == 1)}
    cumulants: dict[tuple[int, ...], Array] = {}
    most = max(map(len, shape.places), default=0)
    leading = values.shape[:-1]
    for order in range(1, most + 1):
        sets = [one for one in shape.places if len(one) == order]
        predicted = {one: _predict_mean(one, values, shape.places, cumulants, means) for one in sets}
        for one in sets:
            cumulants[one] = values[..., shape.places[one]] - predicted[one]
        if order == 1:
            continue
        units = [_outer([spreads[i] for i in one], leading) for one in sets]
        unit = np.concatenate(units, axis=-1)
        noise = np.concatenate([means.variances[..., shape.places[one]] for one in sets], axis=-1) / unit**2
        seen = np.concatenate([cumulants[one] for one in sets], axis=-1) / unit
        kept = posterior_means(seen, noise)
        share = np.divide(kept, seen, out=np.zeros_like(kept), where=seen != 0)
        kept = kept * unit
        ends = np.cumsum([0, *(cumulants[one].shape[-1] for one in sets)])
        for one, start, stop in zip(sets, ends, ends[1:], strict=False):
            cumulants[one] = kept[..., start:stop]
            values[..., shape.places[one]] = predicted[one] + cumulants[one]
            # a normal prior that keeps some share of an estimate keeps the same share of its variance
            left = np.where(np.isfinite(variances[..., shape.places[one]]), share[..., start:stop], 1.0)
            variances[..., shape.places[one]] *= left
    return replace(means, values=values, variances=variances)


def informs_beyond_pairs(
    linear: Coefficients, means: Coefficients, face: tuple[int, ...], table: Array, predicted: Array
) -> Array:
    """Return whether reports say enough about three attributes and more for a table to beat its pairs' prediction.

    Mallows' criterion over the means of products of three functions and more: distance from what was seen, and twice
    the parameters taken, the share of each mean that was not shrunk away. It must be better by more than chance:
    tables of many attributes are made of many such faces, whose noise adds up.
    """
    shape = linear.shape
    levels = [shape.levels[i] for i in face]
    sizes = [own.size for own in levels]
    high = sum(index > 0 for index in np.indices(sizes)) > 2
    places = shape.keys(face, sizes)[high]
    seen, noise = linear.values[..., places], linear.variances[..., places]
    looks = [analysis(own, own.finest) for own in levels]
    taken, given = (((along(one, looks)[..., high] - seen) ** 2 / noise).sum(axis=-1) for one in (table, predicted))
    chance = np.sqrt(2 * np.isfinite(noise).sum(axis=-1))
    informative: Array = taken + 2 * kept_share(linear, means, places).sum(axis=-1) + chance < given
    return informative


def kept_share(linear: Coefficients, means: Coefficients, places: Index) -> Array:
    """Return which share of some means was kept; 0 for those that nobody reported."""
    noise = linear.variances[..., places]
    known = np.isfinite(noise) & (noise > 0)  # the total is known, so it has none
    return np.where(known, means.variances[..., places] / np.where(known, noise, 1.0), 0.0)


def _alike(means: Coefficients) -> Coefficients:
    """Fit the one-way means of attributes of one size together, function by function."""
    values = means.values.copy()
    sizes: dict[int, list[int]] = {}
    for one, place in means.shape.places.items():
        if len(one) == 1:
            sizes.setdefault(means.shape.levels[one[0]].size, []).append(place.start)
    for size, starts in sizes.items():
        if len(starts) < ALIKE or size > ALIKE:  # long attributes are ordered, and each has its own shape
            continue
        for function in range(size - 1):
            mine = np.array(starts) + function
            values[..., mine] = fitted_means(values[..., mine], means.variances[..., mine])
    return replace(means, values=values)


def _spread(means: Coefficients, attribute: int) -> Array:
    """Return the standard deviations of an attribute's functions, under its own table."""
    levels = means.shape.levels[attribute]
    table = norm_sub(means.table((attribute,)))
    own = functions(levels)[:, 1:]
    mean = means.values[..., means.shape.places[attribute,]]
    return np.sqrt(np.maximum(table @ own**2 - mean**2, 0.02 / levels.size))


def _outer(parts: list[Array], leading: tuple[int, ...]) -> Array:
    product = np.ones((*leading, 1))
    for part in parts:
        product = (product[..., :, None] * part[..., None, :]).reshape(*leading, -1)
    return product


def _predict_mean(
    one: tuple[int, ...],
    values: Array,
    places: dict[tuple[int, ...], slice],
    cumulants: dict[tuple[int, ...], Array],
    means: Coefficients,
) -> Array:
    """Return the prediction of the mean of a product from smaller sets: its value if the joint cumulant were zero."""
    leading = values.shape[:-1]
    if len(one) == 1:
        return np.zeros((*leading, means.shape.levels[one[0]].size - 1))
    sizes = [means.shape.levels[i].size - 1 for i in one]
    total = np.zeros((*leading, *sizes))
    for size in range(1, len(one)):
        for rest in combinations(one[1:], size - 1):
            block = (one[0], *rest)
            other = tuple(i for i in one if i not in block)
            left = cumulants[block].reshape(
                *leading, *(s if i in block else 1 for i, s in zip(one, sizes, strict=True))
            )
            right = values[..., places[other]]
            total += left * right.reshape(*leading, *(s if i in other else 1 for i, s in zip(one, sizes, strict=True)))
    return total.reshape(*leading, -1)


def posterior_means(seen: Array, noise: Array) -> Array:
    """Shrink estimates with known noise towards zero, along the last axis."""
    known = np.isfinite(noise) & np.ones(seen.shape, dtype=bool)
    noise = np.where(known, noise, 1e6)
    seen = np.where(known, seen, 0.0)
    top = np.maximum(np.max(seen**2, axis=-1, keepdims=True), SMALL)
    ratios = np.concatenate([[0.0], np.geomspace(1e-4, 1.0, WIDTHS - 1)])
    widths = ratios[:, None] * top[..., None, :]  # (…, widths, 1): variances of the mixture's parts
    spread = widths + noise[..., None, :]
    fit = -0.5 * (np.log(spread) + seen[..., None, :] ** 2 / spread)
    fit = np.exp(fit - fit.max(axis=-2, keepdims=True)) * known[..., None, :]
    share = np.full((*seen.shape[:-1], WIDTHS, 1), 1 / WIDTHS)
    prior = np.zeros((WIDTHS, 1))
    prior[0] = 1.0  # among mixtures that fit equally well, prefer more zeros
    for _ in range(ROUNDS):
        part = share * fit
        part /= np.maximum(part.sum(axis=-2, keepdims=True), 1e-300)
        share = (part * known[..., None, :]).sum(axis=-1, keepdims=True) + prior
        share /= share.sum(axis=-2, keepdims=True)
    part = share * fit
    part /= np.maximum(part.sum(axis=-2, keepdims=True), 1e-300)
    return np.where(known, (part * widths / spread).sum(axis=-2) * seen, 0.0)


def fitted_means(seen: Array, noise: Array) -> Array:
    """Replace estimates with known noise by their posterior means under the best-fitting point masses."""
    low, high = seen.min(axis=-1, keepdims=True), seen.max(axis=-1, keepdims=True)
    grid = (low + (high - low) * np.linspace(0, 1, POINTS))[..., :, None]
    fit = -0.5 * (seen[..., None, :] - grid) ** 2 / noise[..., None, :]
    fit = np.exp(fit - fit.max(axis=-2, keepdims=True))
    share = np.full((*seen.shape[:-1], POINTS, 1), 1 / POINTS)
    for _ in range(ROUNDS):
        part = share * fit
        share = (part / part.sum(axis=-2, keepdims=True)).mean(axis=-1, keepdims=True)
    part = share * fit
    return np.asarray((part * grid).sum(axis=-2) / part.sum(axis=-2))
