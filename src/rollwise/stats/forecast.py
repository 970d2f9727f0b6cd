"""Beta-binomial model of the goals' success probabilities, for forecasts beyond the observed number of attempts."""

from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from rollwise.stats.estimate import BoolArray, FloatArray

LEAST, MOST = -7.0, 9.0
"""Bounds of log(α + β): at the lower one every goal has probability 0 or 1, at the upper one all goals are equal."""


class BetaBinomial(NamedTuple):
    """Fitted distribution p ~ Beta(α, β) of the goals' success probabilities.

    Attributes
    ----------
    alpha, beta
        Float (replicates,), or float () for one fit; NaN without any success or any failure, since neither is identified then.
    at_edge
        Boolean: log(α + β) is at a bound, so the exponent of the tail, α, is not identified.
    """

    alpha: FloatArray
    beta: FloatArray
    at_edge: BoolArray

    def reached(self, k: float | FloatArray | list[int]) -> FloatArray:
        """Return the share of goals with a success in k attempts: 1 - B(α, β + k) / B(α, β), with a tail of k^-α.

        Examples
        --------
        >>> uniform = BetaBinomial(np.array(1.0), np.array(1.0), np.array(False))
        >>> uniform.reached([1, 3]).tolist()  # k / (k + 1)
        [0.5, 0.75]
        """
        longer = self.beta + np.asarray(k, dtype=np.float64)
        return np.asarray(
            -np.expm1(scipy.special.betaln(self.alpha, longer) - scipy.special.betaln(self.alpha, self.beta))
        )


def beta_binomial(successes: ArrayLike, attempts: ArrayLike, weights: ArrayLike | None = None) -> BetaBinomial:
    """Fit the beta distribution of the goals' success probabilities by maximum likelihood.

    Each goal contributes log B(α + c, β + n - c) - log B(α, β). This holds for a number of attempts n fixed in advance and for
    attempts that stop at the first success (then c is 0 or 1), because the two likelihoods differ by a constant. Damped Newton
    steps on the logit of the mean and on log(α + β) run for all replicates at once.

    Parameters
    ----------
    successes, attempts
        Integer (goals,): c successes in n attempts, n at least 1.
    weights
        Float (replicates, goals) or (goals,): weight of each goal; None for ones.

    Returns
    -------
    BetaBinomial
        Arrays (replicates,), or () for one fit.

    References
    ----------
    Griffiths (1973), doi:10.2307/2529131; Schaeffer et al. (2025), How do large language monkeys get their power (laws)?,
    arXiv:2502.17578, for the tail.

    Examples
    --------
    >>> fit = beta_binomial([0, 0, 1, 1, 2, 4, 5, 0], [5] * 8)
    >>> float(fit.alpha.round(2)), float(fit.beta.round(2)), bool(fit.at_edge)
    (0.39, 0.77, False)
    """
    c, n = np.asarray(successes, dtype=np.float64), np.asarray(attempts, dtype=np.float64)
    goal_weights = np.ones(c.size) if weights is None else np.asarray(weights, dtype=np.float64)
    # Goals with the same c and n contribute the same term: summing their weights shortens the likelihood.
    pairs, which = np.unique(np.column_stack([c, n]), axis=0, return_inverse=True)
    w = np.atleast_2d(goal_weights) @ np.eye(len(pairs))[which.reshape(-1)]  # NumPy 2.0 returns a column here
    c, n = pairs.T
    hits, misses = w @ c, w @ (n - c)
    identified = (hits > 0) & (misses > 0)
    mean = np.where(identified, hits / np.where(identified, hits + misses, 1), 0.5)
    params = np.stack([scipy.special.logit(mean), np.ones(mean.size)], axis=1)
    value = _likelihood(params, c, n, w)
    damping = np.full(mean.size, 1e-3)
    active = np.flatnonzero(identified)
    for _ in range(100):
        current, weight = params[active], w[active]
        slope, curve = _derivatives(current, c, n, weight)
        # A fit at a bound whose gradient points outward stays there; only its mean is still optimized.
        at_bound = ((current[:, 1] <= LEAST) & (slope[:, 1] < 0)) | ((current[:, 1] >= MOST) & (slope[:, 1] > 0))
        slope = np.where(at_bound[:, None] & np.array([False, True]), 0.0, slope)
        proposed = current + _step(slope, curve, damping[active], at_bound)
        proposed[:, 1] = np.clip(proposed[:, 1], LEAST, MOST)
        proposed_value = _likelihood(proposed, c, n, weight)
        # Levenberg-Marquardt: damp less after a step that raised the likelihood, more after one that lowered it.
        better = proposed_value >= value[active]
        moved = np.abs(proposed - current).max(axis=1)
        params[active], value[active] = (
            np.where(better[:, None], proposed, current),
            np.where(better, proposed_value, value[active]),
        )
        damping[active] *= np.where(better, 0.1, 10.0)
        active = active[(moved > 1e-8) | ~better & (damping[active] < 1e6)]
        if not active.size:
            break
    total, share = np.exp(params[:, 1]), scipy.special.expit(params[:, 0])
    alpha, beta = (np.where(identified, total * part, np.nan) for part in (share, 1 - share))
    edge = identified & ((params[:, 1] <= LEAST) | (params[:, 1] >= MOST))
    shape = goal_weights.shape[:-1]
    return BetaBinomial(alpha.reshape(shape), beta.reshape(shape), edge.reshape(shape))


def _parameters(params: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    total = np.exp(params[:, 1:])
    share = scipy.special.expit(params[:, :1])
    return total, total * share, total * scipy.special.expit(-params[:, :1])


def _likelihood(params: FloatArray, c: FloatArray, n: FloatArray, w: FloatArray) -> FloatArray:
    _, a, b = _parameters(params)
    return np.asarray((w * (scipy.special.betaln(a + c, b + n - c) - scipy.special.betaln(a, b))).sum(axis=1))


def _derivatives(params: FloatArray, c: FloatArray, n: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the gradient and the Hessian of the log-likelihood in the logit of the mean and log(α + β)."""
    total, a, b = _parameters(params)
    joint, of_ab = (gamma(total) - gamma(total + n) for gamma in (scipy.special.digamma, _trigamma))
    of_a, of_aa = (
        scipy.special.digamma(a + c) - scipy.special.digamma(a) + joint,
        _trigamma(a + c) - _trigamma(a) + of_ab,
    )
    of_b, of_bb = (
        scipy.special.digamma(b + n - c) - scipy.special.digamma(b) + joint,
        _trigamma(b + n - c) - _trigamma(b) + of_ab,
    )
    da, db, daa, dbb, dab = ((w * part).sum(axis=1) for part in (of_a, of_b, of_aa, of_bb, of_ab))
    a, b, m = a[:, 0], b[:, 0], scipy.special.expit(params[:, 0])
    turn = a * (1 - m)  # dα/dlogit = -dβ/dlogit
    slope = np.stack([turn * (da - db), a * da + b * db], axis=1)
    bend = turn * (1 - 2 * m)  # second derivative of α in the logit
    first = turn**2 * (daa - 2 * dab + dbb) + bend * (da - db)
    mixed = turn * (a * (daa - dab) + b * (dab - dbb)) + turn * (da - db)
    second = a**2 * daa + 2 * a * b * dab + b**2 * dbb + a * da + b * db
    return slope, np.stack([np.stack([first, mixed], -1), np.stack([mixed, second], -1)], -2)


def _trigamma(x: FloatArray) -> FloatArray:
    return np.asarray(scipy.special.zeta(2.0, x))


def _step(slope: FloatArray, curve: FloatArray, damping: FloatArray, at_bound: BoolArray) -> FloatArray:
    """Return a damped Newton step uphill; only along the mean if log(α + β) is at a bound."""
    mask = np.where(at_bound[:, None, None], np.array([[1.0, 0.0], [0.0, 0.0]]), 1.0)
    matrix = -curve * mask + np.where(at_bound, 1.0, 0.0)[:, None, None] * np.diag([0.0, 1.0])
    # Shift the eigenvalues above 0, so that the step goes uphill even where the likelihood is not concave.
    lowest = np.linalg.eigvalsh(matrix)[:, 0]
    size = np.abs(np.trace(matrix, axis1=1, axis2=2)) + 1e-12
    matrix = matrix + (np.maximum(0.0, 1e-9 * size - lowest) + damping * size)[:, None, None] * np.eye(2)
    step = np.linalg.solve(matrix, slope[..., None])[..., 0]
    return np.asarray(np.clip(step, -3.0, 3.0))
