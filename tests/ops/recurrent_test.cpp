#include "ops/op_test.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

/// RNN, GRU and LSTM against the formulas in the ONNX documentation, computed number by number.
namespace rondel::test {
namespace {

constexpr std::int64_t steps = 4, batch = 3, inputs = 2, hidden = 3;

/// Small pseudo-random numbers with a long period.
Tensor numbers(Shape shape, unsigned seed) {
  Tensor t(DType::f32, std::move(shape));
  for (std::int64_t i = 0; i < t.size(); ++i) {
    seed = seed * 1664525U + 1013904223U;
    t.data_as<float>()[i] = static_cast<float>(seed >> 8) / 16777216.0F - 0.5F;
  }
  return t;
}

double at(const Tensor& t, std::initializer_list<std::int64_t> index) {
  std::int64_t offset = 0;
  std::size_t axis = 0;
  for (const std::int64_t i : index) offset += i * t.strides()[axis++];
  return t.data_as<float>()[offset];
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct Options {
  bool reverse = false, lengths = false, biases = true, initial = true, peepholes = false;
  bool input_forget = false, late_reset = false;
  double clip = 0;
};

struct Weights {
  Tensor x, w, r, b, h, c, p;
  std::vector<std::int64_t> lengths{4, 0, 2};

  Weights(std::int64_t gates, std::int64_t directions)
      : x(numbers({steps, batch, inputs}, 1)), w(numbers({directions, gates * hidden, inputs}, 2)),
        r(numbers({directions, gates * hidden, hidden}, 3)),
        b(numbers({directions, 2 * gates * hidden}, 4)), h(numbers({directions, batch, hidden}, 5)),
        c(numbers({directions, batch, hidden}, 6)), p(numbers({directions, 3 * hidden}, 7)) {}
};

/// The formulas for one sample in one direction, in double.
class Sample {
 public:
  Sample(const Weights& w, const Options& o, std::int64_t direction, std::int64_t n,
         std::int64_t gates)
      : w_(w), o_(o), d_(direction), n_(n), gates_(gates) {
    for (std::int64_t j = 0; j < hidden; ++j) {
      h.push_back(o.initial ? at(w.h, {d_, n, j}) : 0);
      c.push_back(o.initial ? at(w.c, {d_, n, j}) : 0);
    }
  }

  /// Element `gate * hidden + j` of x[t] w^T plus the input bias.
  double input(std::int64_t t, std::int64_t gate, std::int64_t j) const {
    double sum = bias(gate, j, 0);
    for (std::int64_t k = 0; k < inputs; ++k)
      sum += at(w_.x, {t, n_, k}) * at(w_.w, {d_, gate * hidden + j, k});
    return sum;
  }
  double recurrent(const std::vector<double>& state, std::int64_t gate, std::int64_t j) const {
    double sum = bias(gate, j, gates_);
    for (std::int64_t k = 0; k < hidden; ++k)
      sum += state[static_cast<std::size_t>(k)] * at(w_.r, {d_, gate * hidden + j, k});
    return sum;
  }
  double held(double x) const { return o_.clip > 0 ? std::clamp(x, -o_.clip, o_.clip) : x; }
  double peep(std::int64_t which, std::int64_t j, double cell) const {
    return o_.peepholes ? at(w_.p, {d_, which * hidden + j}) * cell : 0;
  }

  void rnn(std::int64_t t) {
    const std::vector<double> old = h;
    for (std::int64_t j = 0; j < hidden; ++j)
      h[static_cast<std::size_t>(j)] = std::tanh(held(input(t, 0, j) + recurrent(old, 0, j)));
  }

  void gru(std::int64_t t) {
    const std::vector<double> old = h;
    std::vector<double> gated = old;
    const auto gate = [&](std::int64_t g, std::int64_t j) {
      return sigmoid(held(input(t, g, j) + recurrent(old, g, j)));
    };
    for (std::int64_t j = 0; j < hidden; ++j) gated[static_cast<std::size_t>(j)] *= gate(1, j);
    for (std::int64_t j = 0; j < hidden; ++j) {
      const double z = gate(0, j);
      const double inner = o_.late_reset ? gate(1, j) * recurrent(old, 2, j)
                                         : recurrent(gated, 2, j);
      const double fresh = std::tanh(held(input(t, 2, j) + inner));
      h[static_cast<std::size_t>(j)] = (1 - z) * fresh + z * old[static_cast<std::size_t>(j)];
    }
  }

  void lstm(std::int64_t t) {
    const std::vector<double> old = h;
    for (std::int64_t j = 0; j < hidden; ++j) {
      double& cell = c[static_cast<std::size_t>(j)];
      const auto gate = [&](std::int64_t g, double more) {
        return held(input(t, g, j) + recurrent(old, g, j) + more);
      };
      const double i = sigmoid(gate(0, peep(0, j, cell)));
      const double f = o_.input_forget ? 1 - i : sigmoid(gate(2, peep(2, j, cell)));
      cell = f * cell + i * std::tanh(gate(3, 0));
      const double out = sigmoid(gate(1, peep(1, j, cell)));
      h[static_cast<std::size_t>(j)] = out * std::tanh(held(cell));
    }
  }

  std::vector<double> h, c;

 private:
  double bias(std::int64_t gate, std::int64_t j, std::int64_t from) const {
    return o_.biases ? at(w_.b, {d_, (from + gate) * hidden + j}) : 0;
  }

  const Weights& w_;
  const Options& o_;
  std::int64_t d_, n_, gates_;
};

/// Compares the op with the formulas. `directions` is 2 for a bidirectional op.
void check_recurrent(const std::string& op, const Options& o, std::int64_t directions = 1,
                     ir::Attributes attributes = {}) {
  const std::int64_t gates = op == "lstm" ? 4 : op == "gru" ? 3 : 1;
  const Weights w(gates, directions);
  OpCase c{op, {w.x, w.w, w.r}, std::move(attributes)};
  c.attributes.set("hidden_size", hidden);
  c.attributes.set("direction", directions == 2 ? "bidirectional"
                                : o.reverse     ? "reverse"
                                                : "forward");
  if (o.clip > 0) c.attributes.set("clip", o.clip);
  if (o.input_forget) c.attributes.set("input_forget", std::int64_t{1});
  if (o.late_reset) c.attributes.set("linear_before_reset", std::int64_t{1});
  c.inputs.push_back(o.biases ? Value(w.b) : Value());
  c.inputs.push_back(o.lengths ? Value(Tensor::from<std::int32_t>({batch}, {4, 0, 2})) : Value());
  c.inputs.push_back(o.initial ? Value(w.h) : Value());
  if (op == "lstm") {
    c.inputs.push_back(o.initial ? Value(w.c) : Value());
    c.inputs.push_back(o.peepholes ? Value(w.p) : Value());
  }
  const std::size_t outputs = op == "lstm" ? 3 : 2;
  const std::vector<Value> got = run_op(c, outputs);
  ASSERT_EQ(got[0].tensor().shape(), (Shape{steps, directions, batch, hidden}));
  ASSERT_EQ(got[1].tensor().shape(), (Shape{directions, batch, hidden}));
  for (std::int64_t d = 0; d < directions; ++d) {
    const bool reverse = o.reverse || d == 1;
    for (std::int64_t n = 0; n < batch; ++n) {
      Sample s(w, o, d, n, gates);
      const std::int64_t length = o.lengths ? w.lengths[static_cast<std::size_t>(n)] : steps;
      for (std::int64_t k = 0; k < length; ++k) {
        const std::int64_t t = reverse ? length - 1 - k : k;
        op == "lstm" ? s.lstm(t) : op == "gru" ? s.gru(t) : s.rnn(t);
        for (std::int64_t j = 0; j < hidden; ++j)
          EXPECT_NEAR(at(got[0].tensor(), {t, d, n, j}), s.h[static_cast<std::size_t>(j)], 1e-6);
      }
      for (std::int64_t j = 0; j < hidden; ++j) {
        for (std::int64_t t = length; t < steps; ++t)
          EXPECT_EQ(at(got[0].tensor(), {t, d, n, j}), 0);
        EXPECT_NEAR(at(got[1].tensor(), {d, n, j}), s.h[static_cast<std::size_t>(j)], 1e-6);
        if (op != "lstm") continue;
        EXPECT_NEAR(at(got[2].tensor(), {d, n, j}), s.c[static_cast<std::size_t>(j)], 1e-6);
      }
    }
  }
}

TEST(Recurrent, Directions) {
  for (const char* op : {"rnn", "gru", "lstm"}) {
    SCOPED_TRACE(op);
    check_recurrent(op, {});
    check_recurrent(op, {.reverse = true});
    check_recurrent(op, {}, 2);
  }
}

TEST(Recurrent, OptionalInputs) {
  for (const char* op : {"rnn", "gru", "lstm"}) {
    SCOPED_TRACE(op);
    check_recurrent(op, {.biases = false, .initial = false});
    check_recurrent(op, {.lengths = true});
    check_recurrent(op, {.reverse = true, .lengths = true});
    check_recurrent(op, {.lengths = true}, 2);
  }
}

TEST(Recurrent, Clip) {
  for (const char* op : {"rnn", "gru", "lstm"}) check_recurrent(op, {.clip = 0.1});
}

TEST(Recurrent, Peepholes) {
  check_recurrent("lstm", {.peepholes = true});
  check_recurrent("lstm", {.peepholes = true}, 2);
  check_recurrent("lstm", {.input_forget = true});
}

TEST(Recurrent, LateReset) {
  check_recurrent("gru", {.late_reset = true});
  check_recurrent("gru", {.biases = false, .late_reset = true}, 2);
}

/// One step with a state of 0: the candidate's weight is 1 * 0.01, the others are 0.
TEST(Recurrent, DynamicallyQuantized) {
  check_ops(R"(
    dynamic_quantize_lstm x=[[[255]]] w=u8[[[130, 130, 130, 131]]] r=u8[[[7, 8, 9, 10]]] b=none sequence_lens=none initial_h=none initial_c=[[[1]]] p=none w_scale=[0.01] w_zero_point=u8[130] r_scale=[[1, 2, 3, 4]] r_zero_point=u8[[7, 8, 9, 10]]; hidden_size=1 -> [[[[0.3795187]]]] & [[[0.3795187]]] & [[[0.9939402]]]
    dynamic_quantize_lstm x=[[[0]]] w=u8[[[0, 0, 0, 9]]] r=u8[[[0, 0, 0, 0]]] b=none sequence_lens=none initial_h=none initial_c=[[[1]]] p=none w_scale=[1] w_zero_point=u8[0] r_scale=[1] r_zero_point=u8[0]; hidden_size=1 -> [[[[0.2310586]]]] & [[[0.2310586]]] & [[[0.5]]]
    dynamic_quantize_lstm x=[[[0]]] w=[[[0, 0, 0, 9]]] r=u8[[[0, 0, 0, 0]]] b=none sequence_lens=none initial_h=none initial_c=none p=none w_scale=[1] w_zero_point=u8[0] r_scale=[1] r_zero_point=u8[0]; hidden_size=1 -> error: input 1 is f32
  )");
}

/// The activations alone, with h = 0 and x = 2, with given and with default parameters.
TEST(Recurrent, Activations) {
  const auto one = [](const char* name, ir::Floats alpha, ir::Floats beta) {
    const Tensor two = Tensor::from<float>({1, 1, 1}, {2}),
                 one = Tensor::from<float>({1, 1, 1}, {1});
    const ir::Attributes a{{"hidden_size", 1},
                           {"activations", ir::Strings{name}},
                           {"activation_alpha", std::move(alpha)},
                           {"activation_beta", std::move(beta)}};
    return at(run_op({"rnn", {two, one, one}, a}, 2)[1].tensor(), {0, 0, 0});
  };
  EXPECT_NEAR(one("Affine", {3}, {0.5}), 6.5, 1e-6);
  EXPECT_NEAR(one("relu", {}, {}), 2.0, 1e-6);
  EXPECT_NEAR(one("ScaledTanh", {2}, {0.5}), 2 * std::tanh(1.0), 1e-6);
  EXPECT_NEAR(one("HardSigmoid", {}, {}), 0.9, 1e-6);
  EXPECT_NEAR(one("Softsign", {}, {}), 2.0 / 3.0, 1e-6);
  EXPECT_NEAR(one("ThresholdedRelu", {3}, {}), 0.0, 1e-6);
  EXPECT_THROW(one("Nothing", {}, {}), std::exception);
}

/// The batch-first layout gives the same numbers.
TEST(Recurrent, BatchFirst) {
  const Weights w(4, 1);
  Tensor x(DType::f32, {batch, steps, inputs}), h(DType::f32, {batch, 1, hidden});
  for (std::int64_t n = 0; n < batch; ++n) {
    for (std::int64_t t = 0; t < steps; ++t)
      for (std::int64_t k = 0; k < inputs; ++k)
        x.data_as<float>()[(n * steps + t) * inputs + k] = static_cast<float>(at(w.x, {t, n, k}));
    for (std::int64_t j = 0; j < hidden; ++j)
      h.data_as<float>()[n * hidden + j] = static_cast<float>(at(w.h, {0, n, j}));
  }
  const ir::Attributes plain{{"hidden_size", hidden}};
  const ir::Attributes first{{"hidden_size", hidden}, {"layout", 1}};
  const auto a = run_op({"lstm", {w.x, w.w, w.r, w.b, Value(), w.h}, plain}, 3);
  const auto b = run_op({"lstm", {x, w.w, w.r, w.b, Value(), h}, first}, 3);
  ASSERT_EQ(b[0].tensor().shape(), (Shape{batch, steps, 1, hidden}));
  ASSERT_EQ(b[2].tensor().shape(), (Shape{batch, 1, hidden}));
  for (std::int64_t n = 0; n < batch; ++n)
    for (std::int64_t j = 0; j < hidden; ++j) {
      for (std::int64_t t = 0; t < steps; ++t)
        EXPECT_EQ(at(b[0].tensor(), {n, t, 0, j}), at(a[0].tensor(), {t, 0, n, j}));
      EXPECT_EQ(at(b[2].tensor(), {n, 0, j}), at(a[2].tensor(), {0, n, j}));
    }
}

}  // namespace
}  // namespace rondel::test
