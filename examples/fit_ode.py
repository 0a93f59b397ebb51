"""Fits the rates of a Lotka-Volterra system, prey and predators, to observations, through an adaptive solver.

The solver is ONNX: a Scan over the observations, with a Loop of adaptive Runge-Kutta steps inside (Bogacki, Shampine, 1989): the
step size follows from the error, so the number of steps depends on the data. Rondel differentiates through both.
"""

import argparse

import numpy as np
import onnx.parser
from onnx import numpy_helper

import rondel

SOLVER = """
<ir_version: 10, opset_import: ["" : 21, "lotka" : 1]>
solver (float[n] gaps) => (float[n, 2] log_populations)
<float one = {1}, float tiny = {1e-9}, float tolerance = {1e-3}, float safety = {0.9}, float third = {-0.3333333},
 float shrink = {0.2}, float grow = {4}, float half = {0.5}, float three_quarters = {0.75}, float zero = {0}, float first = {0.1},
 float[3] weights = {0.22222222, 0.33333333, 0.44444444}, float[4] errors = {0.06944444, -0.08333333, -0.11111111, 0.125},
 int64[1] axis = {0}, int64 most = {10000}, bool yes = {1}> {
  rates = Exp (log_rates)
  growth, eaten, deaths, births = Split <num_outputs = 4> (rates)
  last, log_populations = Scan <num_scan_inputs = 1, body = observe (float[2] start, float gap) => (float[2] end, float[2] seen) {
    step0 = Min (gap, first)
    time, step, end = Loop (most, yes, zero, step0, start) <body = advance (int64 i, bool go, float t, float h, float[2] u) => (bool more, float t1, float h1, float[2] u1) {
      k1 = lotka.volterra (u, growth, eaten, deaths, births)
      h_half = Mul (h, half)
      d2 = Mul (h_half, k1)
      u2 = Add (u, d2)
      k2 = lotka.volterra (u2, growth, eaten, deaths, births)
      h_most = Mul (h, three_quarters)
      d3 = Mul (h_most, k2)
      u3 = Add (u, d3)
      k3 = lotka.volterra (u3, growth, eaten, deaths, births)
      w1, w2, w3 = Split <num_outputs = 3> (weights)
      s1 = Mul (w1, k1)
      s2 = Mul (w2, k2)
      s3 = Mul (w3, k3)
      slope = Sum (s1, s2, s3)
      d4 = Mul (h, slope)
      u4 = Add (u, d4)
      k4 = lotka.volterra (u4, growth, eaten, deaths, births)
      e1, e2, e3, e4 = Split <num_outputs = 4> (errors)
      f1 = Mul (e1, k1)
      f2 = Mul (e2, k2)
      f3 = Mul (e3, k3)
      f4 = Mul (e4, k4)
      f = Sum (f1, f2, f3, f4)
      error = Mul (h, f)
      size = Abs (error)
      worst = ReduceMax <keepdims = 0> (size)
      relative = Div (worst, tolerance)
      fine = LessOrEqual (relative, one)
      ahead = Add (t, h)
      t1 = Where (fine, ahead, t)
      u1 = Where (fine, u4, u)
      positive = Max (relative, tiny)
      power = Pow (positive, third)
      wished = Mul (power, safety)
      factor = Clip (wished, shrink, grow)
      longer = Mul (h, factor)
      left = Sub (gap, t1)
      h1 = Min (longer, left)
      more = Greater (left, tiny)
    }>
    seen = Identity (end)
  }> (log_start, gaps)
}
<domain: "lotka", opset_import: ["" : 21]>
volterra (u, growth, eaten, deaths, births) => (slope) {
  log_prey, log_predators = Split <num_outputs = 2> (u)
  prey = Exp (log_prey)
  predators = Exp (log_predators)
  killed = Mul (eaten, predators)
  fed = Mul (births, prey)
  prey_slope = Sub (growth, killed)
  predator_slope = Sub (fed, deaths)
  slope = Concat <axis = 0> (prey_slope, predator_slope)
}
"""

# Hudson's Bay Company, 1900 to 1920: pelts of hares and lynxes in thousands, as in Hewitt, "The Conservation of the Wild Life of Canada" (1921).
HARES = [30, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22, 25.4, 27.1, 40.3, 57, 76.6, 52.3, 19.5, 11.2, 7.6, 14.6, 16.2, 24.7]
LYNXES = [4, 6.1, 9.8, 35.2, 59.4, 41.7, 19, 13, 8.3, 9.1, 7.4, 8, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8, 9.7, 10.1, 8.6]
NAMES = ("growth of prey", "prey eaten", "deaths of predators", "births of predators")
TRUE_RATES = (0.55, 0.028, 0.84, 0.026)


def solved(rates, start, gaps, parts=2000):
    """The populations after each gap, by the classical Runge-Kutta method with many equal steps, in NumPy."""

    def slope(u):
        prey, predators = u
        return np.array([prey * (rates[0] - rates[1] * predators), predators * (rates[3] * prey - rates[2])])

    u, seen = np.array(start, float), []
    for gap in gaps:
        h = gap / parts
        for _ in range(parts):
            k1 = slope(u)
            k2 = slope(u + h / 2 * k1)
            k3 = slope(u + h / 2 * k2)
            k4 = slope(u + h * k3)
            u = u + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        seen.append(u)
    return np.array(seen)


def observations(kind):
    """(gaps between observations, populations at their ends, populations at the beginning)."""
    if kind == "hares":
        seen = np.array([HARES, LYNXES]).T
        return np.ones(len(seen) - 1), seen[1:], seen[0]
    gaps = np.full(20, 1.0)
    return gaps, solved(TRUE_RATES, (30, 4), gaps), np.array([30.0, 4.0])


def fit(gaps, seen, start, steps):
    """(rates, populations at the beginning, [loss of each step]): what describes the populations `seen` after the gaps best."""
    model = onnx.parser.parse_model(SOLVER)
    guess = np.log([0.5, 0.02, 1.0, 0.02])
    model.graph.initializer.append(numpy_helper.from_array(guess.astype(np.float32), "log_rates"))
    model.graph.initializer.append(numpy_helper.from_array(np.log(start).astype(np.float32), "log_start"))
    trainer = rondel.train.Trainer(
        model,
        loss="mse",
        optimizer=rondel.train.Adam(lr=0.02),
        trained=["log_rates", "log_start"],
        clip_norm=1.0,
        schedule=lambda step: 0.5 * (1 + np.cos(np.pi * step / steps)),
    )
    batch = {"gaps": gaps.astype(np.float32), "target": np.log(seen).astype(np.float32)}
    losses = [trainer.step(batch) for _ in range(steps)]
    return np.exp(trainer.parameters["log_rates"]), np.exp(trainer.parameters["log_start"]), losses


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", choices=["made", "hares"], default="made", help="made: from rates that are known (the default); hares: 21 years of pelts")
    parser.add_argument("--steps", type=int, default=400, help="steps of the optimizer (400)")
    options = parser.parse_args()

    rates, _, losses = fit(*observations(options.data), options.steps)
    print(f"mean squared error of logarithms: {losses[0]:.4g}, after {options.steps} steps {losses[-1]:.4g}")
    for name, rate, true in zip(NAMES, rates, TRUE_RATES):
        print(f"{name:20} {rate:.4f}" + (f"  (true: {true}, {100 * (rate / true - 1):+.1f} %)" if options.data == "made" else ""))


if __name__ == "__main__":
    main()
