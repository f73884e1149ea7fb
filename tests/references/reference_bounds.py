"""The papers' bounds for one instance and one round, arm by arm in plain Python: written from the papers."""

import math

import numpy as np


def gaps(mu):
    return [max(mu) - m for m in mu]


def ratio(a, b):
    return a / b if b > 0 else math.inf


# Penalties paper


def penalized(mu, tau, A, T, constant):
    """Theorem 2, from its bounds on counts: gap (E N - tau T) for a critical arm, (gap - A) E N or so for another."""
    total = constant * len(mu)
    for gap, share, rate in zip(gaps(mu), tau, A, strict=True):
        if gap == 0:
            continue
        if gap <= rate:
            total += gap * max(8 * math.log(T) / gap**2 - share * T, 0)
        else:
            below = min(8 * math.log(T) / (gap - rate), (gap - rate) * share * T)
            total += max(below, 8 * math.log(T) / gap)
    return total


def pulls(mu, tau, A, T, constant):
    counts = []
    for gap, share, rate in zip(gaps(mu), tau, A, strict=True):
        alone = ratio(8 * math.log(T), gap**2)
        if gap <= rate:
            counts.append(max(alone, share * T) + constant)
        else:
            counts.append(max(min(8 * math.log(T) / (gap - rate) ** 2, share * T), alone) + constant)
    return counts


def assumes(mu, tau, A, T):
    c0 = 1 - sum(tau)
    for gap, share, rate in zip(gaps(mu), tau, A, strict=True):
        if gap > rate and gap - rate < math.sqrt(16 * len(mu) * math.log(T) / (c0**2 * T)):
            return False
        if gap == rate and share > 0 and rate > 0:
            return False
    return True


def deficits(mu, A, T):
    """Theorem 3 by its recursion, E_j <= E_1 + ... + E_{j-1} + b_1 + ... + b_j."""
    K = len(mu)
    order = sorted(range(K), key=lambda k: -(mu[k] + A[k]))
    b = []
    for d, k in enumerate(order):
        terms = 0.0
        for m, other in enumerate(order):
            if m < d:
                terms += ratio(8, max(mu[k] + A[k] - mu[other], 0) ** 2)
            elif m > d:
                terms += ratio(8, max(mu[k] + A[k] - mu[other] - A[other], 0) ** 2)
        b.append(terms)
    a = []
    for j in range(K):
        a.append(sum(a) + sum(b[: j + 1]))
    found = [math.inf] * K
    for j, k in enumerate(order):
        if mu[k] + A[k] > max(mu):
            found[k] = a[j] * math.log(T)
    return found


def worst_penalized(tau, A, T):
    first = 8 * math.sqrt(T * math.log(T)) * sum(math.sqrt(x) for x in tau)
    second = 8 * math.sqrt((1 - min(tau)) * len(tau) * T * math.log(T))
    return first + second + max(A) * len(tau) * T ** (2 / 3) * math.sqrt(2 * math.log(T))


def noncritical_least(mu, tau, A, T):
    total = 0.0
    for gap, share, rate in zip(gaps(mu), tau, A, strict=True):
        if gap > rate and 8 * math.log(T) / (gap - rate) ** 2 <= share * T / 2:
            total += math.log(T) / (gap - rate)
    return total


def critical_least(mu, tau, A, T):
    total = explored = 0.0
    for gap, share, rate in zip(gaps(mu), tau, A, strict=True):
        if gap == 0:
            continue
        explored += 8 * math.log(T) / (gap if gap <= rate else gap - rate) ** 2
        if gap <= rate:
            total += max(gap * (math.log(T) / gap**2 - share * T), 0)
    return total if explored < T / 2 else 0.0


def penalized_least(tau, A, T, sd):
    """App. F with all arms: the two problems are told apart with a divergence of 1."""
    K = len(tau)
    delta = math.sqrt((K - 1) * sd**2 / (2 * T))
    plays = T / (K - 1)
    assert math.isclose(plays * (2 * delta) ** 2 / (2 * sd**2), 1)
    if delta >= 0.5 or delta >= min(A):
        return 0.0
    each = delta * T * (1 - sum(tau)) / 2
    return each / 2 * math.exp(-1) / 2


# Guarantees paper


def fair_ucb(mu, tau, T):
    total = 0.0
    for gap, share in zip(gaps(mu), tau, strict=True):
        if gap > 0:
            total += (1 + math.pi**2 / 3) * gap
            if share * T < 8 * math.log(T) / gap**2:
                total += gap * (8 * math.log(T) / gap**2 - share * T)
    return total


def worst_fair(mu, tau, T):
    """All rounds that are not guaranteed go to the worst arm."""
    counts = [share * T for share in tau]
    counts[mu.index(min(mu))] += T - sum(counts)
    return sum(gap * (n - share * T) for gap, n, share in zip(gaps(mu), counts, tau, strict=True))


# Merit paper


def quantile(cdf, q, reach):
    """min { d : P(D <= d) >= q }, eq. 2; infinite beyond reach."""
    for d in range(reach + 1):
        if cdf(d) >= q - 1e-12:
            return d
    return math.inf


def over_quantiles(cost, cdfs, T):
    """The least cost(q, d*(q)) over the quantiles at which some arm's distribution jumps."""
    candidates = sorted({cdf(d) for cdf in cdfs for d in range(T + 1)} - {0.0})
    return min(cost(q, max(quantile(cdf, q, T) for cdf in cdfs)) for q in candidates)


# Plays paper


def start(level, a, least):
    """T_0 by search, one round after the other."""
    t = math.ceil(max(least, math.exp(1 + a)))
    while True:
        rounds = np.arange(t, t + 100_000, dtype=float)
        late_enough = np.log(rounds) + a * np.log(np.log(rounds)) <= level * rounds
        if late_enough.any():
            return t + int(late_enough.argmax())
        t += rounds.size


def divergence(p, q):
    total = 0.0
    if p > 0:
        total += p * math.log(p / q)
    if p < 1:
        total += (1 - p) * math.log((1 - p) / (1 - q))
    return total


def c_regret(mu, tau, L, T0, phi):
    """eq. 22 with sorted arms: phi(i, j) bounds how often arm j ranks above the better arm i after T_0."""
    arms = sorted(range(len(mu)), key=lambda k: -mu[k])
    last = mu[arms[L - 1]]
    total = 0.0
    for i in arms[: L - 1]:
        total += (mu[i] - last) * (T0 + sum(phi(i, j) for j in arms[L - 1 :]))
    for j in arms[L:]:
        total += (last - mu[j]) * ((1 - tau[j]) * T0 + sum(phi(i, j) for i in arms[:L]) + 2)
    return total


def around(mu, L):
    """The neighbours of the L-th best mean, as (better, worse) pairs."""
    ranked = sorted(mu, reverse=True)
    pairs = [(ranked[L - 1], ranked[L])]
    return pairs + ([(ranked[L - 2], ranked[L - 1])] if L > 1 else [])


def mmab_ucb1(mu, tau, L):
    eps = min(better - worse for better, worse in around(mu, L)) / 2
    T0 = start(min(tau) * eps**2 / 32, 0, 2 / min(tau))
    return c_regret(mu, tau, L, T0, lambda i, j: math.pi**2 / 3)


def mmab_kl_ucb(mu, tau, L, a):
    eps = min(better - worse for better, worse in around(mu, L)) / 4
    nearest = min(divergence(worse + eps, better - eps) for better, worse in around(mu, L))
    T0 = start(nearest * min(tau) / 4, a, 2 / min(tau))
    return c_regret(
        mu, tau, L, T0, lambda i, j: late(tau[j], eps, T0) + late(tau[i], eps, T0) / (T0 * math.log(T0) ** a)
    )


def late(share, eps, T0):
    """The sum over t >= T_0 and s >= share t - 1 of exp(-2 s eps^2), as two geometric series."""
    x = 2 * eps**2
    return math.exp(-x * (share * T0 - 1)) / (1 - math.exp(-x)) / (1 - math.exp(-x * share))


# Opportunities paper


def etc(K, L, T):
    return (K * L ** (2 / 3) + L ** (-1 / 3)) * T ** (2 / 3) * math.log(T) ** (1 / 3)


def self_regulated(K, L, T):
    """K T max(alpha, beta)."""
    alpha = K ** (2 / 3) * L ** (2 / 3) * T ** (-1 / 3) * math.log(T) ** (1 / 3)
    beta = T ** (-1 / 3) * math.log(T) ** (1 / 3)
    return K * T * max(alpha, beta)


def utility_least(K, T, L, c):
    """The regret of the two cases of App. A.3 on their instances, without terms of lower order."""
    eps = c * T ** (-1 / 3)
    explored = (K - 1) / (8 * eps**2) / 2  # plays of arms that are entitled to nothing, each half a reward short
    entitled = L * eps / (2 * K) * T
    withheld = entitled - entitled / 2 - 1 / (8 * eps**2) / 2  # of an arm played too rarely, its plays not counted
    return max(min(explored, withheld), 0)
