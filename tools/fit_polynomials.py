"""Fits the polynomials of the transcendental functions and prints src/scalar/math_coefficients.h.

    pip install mpmath gmpy2 numpy
    python tools/fit_polynomials.py > src/scalar/math_coefficients.h
    ./dev format

A fit is near-minimax: weighted least squares on Chebyshev points, with larger weights where the
error is largest (Lawson's iteration), in 60 digits. Then the coefficients are rounded one after the
other to their format. After each rounding the remaining coefficients are fitted again,
so that they compensate for it. The printed error is the largest on a fine grid after rounding, relative to
the function that the polynomial approximates.
"""

import argparse
import sys

try:
    import gmpy2
    import mpmath as mp
    import numpy as np
except ImportError as missing:
    sys.exit(f"fit_polynomials.py: {missing}; pip install mpmath gmpy2 numpy")

mp.mp.dps = 60
gmpy2.get_context().precision = 200
BITS = {"f32": 24, "f64": 53}


def real(x):
    return gmpy2.mpfr(mp.nstr(x, 58))


def rounded(x, fmt):
    """x rounded to the precision of a format (no coefficient here is subnormal)."""
    return gmpy2.mpfr(gmpy2.mpfr(x, BITS[fmt]), 200)


def solve(a, b):
    """Gaussian elimination with pivoting."""
    a, b, n = a.copy(), b.copy(), len(b)
    for i in range(n):
        p = i + max(range(n - i), key=lambda k: abs(a[i + k, i]))
        a[[i, p]], b[[i, p]] = a[[p, i]], b[[p, i]]
        for k in range(i + 1, n):
            f = a[k, i] / a[i, i]
            a[k, i:] -= f * a[i, i:]
            b[k] -= f * b[i]
    x = b * 0
    for i in reversed(range(n)):
        x[i] = (b[i] - sum(a[i, i + 1:] * x[i + 1:])) / a[i, i]
    return x


def points(lo, hi, count):
    nodes = [mp.cos(mp.pi * (k + mp.mpf("0.5")) / count) for k in range(count)]
    return [(lo + hi) / 2 + (hi - lo) / 2 * t for t in nodes]


def lawson(v, y, scale, lam, rounds):
    """Coefficients c that nearly minimise max |scale * (y - v c)|, and the final weights."""
    for _ in range(rounds):
        w = lam * scale * scale
        c = solve((v * w[:, None]).T @ v, v.T @ (w * y))
        error = abs(scale * (y - v @ c))
        lam = lam * (error + max(error) * gmpy2.mpfr("1e-3"))
        lam = lam / sum(lam)
    return c, lam


def fit(count, fmt, lo, hi, target, scale):
    """`count` coefficients in ascending order, and the maximum of |scale(x) * (target(x) - p(x))|."""
    lo, hi = mp.mpf(lo), mp.mpf(hi)
    xs = points(lo, hi, 12 * count)
    powers = np.array([[real(x**k) for k in range(count)] for x in xs])
    y = np.array([real(target(x)) for x in xs])
    s = np.array([real(abs(scale(x))) for x in xs])
    lam = np.array([gmpy2.mpfr(1) / len(xs)] * len(xs))
    _, lam = lawson(powers, y, s, lam, 60)
    done = []
    for k in range(count):
        rest = y - sum((powers[:, i] * done[i] for i in range(k)), y * 0)
        c, lam = lawson(powers[:, k:], rest, s, lam, 6)
        done.append(rounded(c[0], fmt))
    worst = 0
    for x in points(lo, hi, 997):
        p = mp.polyval([mp.mpf(str(c)) for c in reversed(done)], x)
        worst = max(worst, abs(scale(x) * (target(x) - p)))
    return done, worst


def quotient(f, terms, divisor, even=False):
    """(f(x) - terms(x)) / divisor(x); near the removable singularity at 0, the value at 1e-12.
    If `even`, the variable is x squared."""
    def g(v):
        x = mp.sqrt(v) if even else v
        if abs(x) < mp.mpf(10) ** -12:
            x = mp.mpf(10) ** -12
        with mp.workdps(140):
            return +((f(x) - terms(x)) / divisor(x))
    return g


def relative(f, divisor, even=False):
    """The factor that turns an error of the quotient into a relative error of f."""
    def s(v):
        x = mp.sqrt(v) if even else v
        if abs(x) < mp.mpf(10) ** -12:
            x = mp.mpf(10) ** -12
        return divisor(x) / f(x)
    return s


def job(name, formula, count, fmt, lo, hi, f, terms, divisor, even=False):
    return (name, formula, count, fmt, lo, hi, quotient(f, terms, divisor, even),
            relative(f, divisor, even))


def log_ratio(s):
    return mp.log((1 + s) / (1 - s))


def log_erfc_job(name, count, fmt, lo, hi):
    centre = mp.mpf(LOG_ERFC_CENTRE)
    return (name, f"log(erfc(t)) in t - {LOG_ERFC_CENTRE}, relative to erf(t)", count, fmt,
            mp.mpf(lo) - centre, mp.mpf(hi) - centre,
            lambda v: mp.log(mp.erfc(v + centre)),
            lambda v: mp.erfc(v + centre) / mp.erf(v + centre))


LOG_ERFC_CENTRE = "0.875"
HALF_LN2 = "0.34658"      # a little more than ln(2) / 2
QUARTER_PI = "0.7854"     # a little more than pi / 4
P8 = "0.41422"            # tan(pi / 8)
ident = lambda x: x
cube = lambda x: x**3
square = lambda x: x * x


def odd(name, what, f, count, fmt, hi):
    """f(x) = x + x^3 p(x^2) for |x| <= hi."""
    return job(name, f"{what}(x) = x + x^3 p(x^2), |x| <= {hi}", count, fmt, "0",
               mp.mpf(hi) ** 2, f, ident, cube, True)


JOBS = [
    job("exp_f32", f"exp(x) = 1 + x + x^2 p(x), |x| <= {HALF_LN2}", 5, "f32", "-" + HALF_LN2,
        HALF_LN2, mp.exp, lambda x: 1 + x, square),
    job("exp_f64", f"exp(x) = 1 + x + x^2 p(x), |x| <= {HALF_LN2}", 10, "f64", "-" + HALF_LN2,
        HALF_LN2, mp.exp, lambda x: 1 + x, square),
    job("exp_f64_for_f32", f"exp(x) = 1 + x + x^2 p(x), |x| <= {HALF_LN2}", 7, "f64",
        "-" + HALF_LN2, HALF_LN2, mp.exp, lambda x: 1 + x, square),
    job("expm1_f32", f"expm1(x) = x + x^2 p(x), |x| <= {HALF_LN2}", 6, "f32", "-" + HALF_LN2,
        HALF_LN2, mp.expm1, ident, square),
    job("log_f32", "log(1 + x) = x - x^2 / 2 + x^3 p(x), -1/3 <= x <= 1/3", 9, "f32",
        mp.mpf(-1) / 3, mp.mpf(1) / 3, mp.log1p, lambda x: x - x * x / 2, cube),
    job("log_f64", "log((1 + s) / (1 - s)) = 2 s + s^3 p(s^2), |s| <= 0.1716", 7, "f64", "0",
        mp.mpf("0.1716") ** 2, log_ratio, lambda s: 2 * s, cube, True),
    job("log_f64_for_f32", "log((1 + s) / (1 - s)) = 2 s + s^3 p(s^2), |s| <= 0.1716", 5, "f64",
        "0", mp.mpf("0.1716") ** 2, log_ratio, lambda s: 2 * s, cube, True),
    job("log_extended", "log((1 + s) / (1 - s)) = 2 s + 2/3 s^3 + 2/5 s^5 + s^7 p(s^2), "
        "|s| <= 0.1716", 8, "f64", "0", mp.mpf("0.1716") ** 2, log_ratio,
        lambda s: 2 * s + 2 * s**3 / 3 + 2 * s**5 / 5, lambda s: s**7, True),
    odd("sinh_f64", "sinh", mp.sinh, 8, "f64", "1"),
    odd("sinh_f64_for_f32", "sinh", mp.sinh, 5, "f64", "1"),
    odd("sin_f32", "sin", mp.sin, 3, "f32", QUARTER_PI),
    odd("sin_f64", "sin", mp.sin, 6, "f64", QUARTER_PI),
    job("cos_f32", f"cos(x) = 1 - x^2 / 2 + x^4 p(x^2), |x| <= {QUARTER_PI}", 3, "f32", "0",
        mp.mpf(QUARTER_PI) ** 2, mp.cos, lambda x: 1 - x * x / 2, lambda x: x**4, True),
    job("cos_f64", f"cos(x) = 1 - x^2 / 2 + x^4 p(x^2), |x| <= {QUARTER_PI}", 6, "f64", "0",
        mp.mpf(QUARTER_PI) ** 2, mp.cos, lambda x: 1 - x * x / 2, lambda x: x**4, True),
    odd("atan_f32", "atan", mp.atan, 5, "f32", P8),
    odd("atan_f64", "atan", mp.atan, 11, "f64", P8),
    odd("asin_f32", "asin", mp.asin, 6, "f32", "0.5"),
    odd("asin_f64", "asin", mp.asin, 13, "f64", "0.5"),
    job("erf_f32", "erf(x) = x + x p(x^2), |x| <= 0.875", 7, "f32", "0", mp.mpf("0.875") ** 2,
        mp.erf, ident, ident, True),
    job("erf_f64", "erf(x) = x + x p(x^2), |x| <= 0.875", 13, "f64", "0", mp.mpf("0.875") ** 2,
        mp.erf, ident, ident, True),
    log_erfc_job("log_erfc_f32", 7, "f32", "0.875", "4"),
    log_erfc_job("log_erfc_f64", 19, "f64", "0.875", "6"),
]


def main():
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    print("#pragma once\n\n/// Coefficients of the transcendental functions, ascending. Generated by tools/fit_polynomials.py,")
    print("/// which documents the method. Errors are relative to the function.")
    print("namespace rondel::scalar::coefficients {")
    for name, formula, count, fmt, lo, hi, target, scale in JOBS:
        values, worst = fit(count, fmt, lo, hi, target, scale)
        print(f"\n/// {formula}: error 2^{mp.nstr(mp.log(worst, 2), 3)}", flush=True)
        print(f"inline constexpr double {name}[] = {{")
        for c in values:
            print(f"    {float(c).hex()},")
        print("};")
    print("\n}  // namespace rondel::scalar::coefficients")


if __name__ == "__main__":
    main()
