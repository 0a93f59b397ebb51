#include "ops/op_test.h"

#include "base/error.h"
#include "base/float_formats.h"
#include "base/text.h"
#include "ops/batch_sweep.h"
#include "ops/export_sweep.h"
#include "ops/meaning.h"
#include "ops/op_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

namespace rondel::test {
namespace {

using compile::Execution;

std::vector<Value> execute(const OpCase& c, std::size_t outputs, KnownTypes known, Execution how,
                           bool check_mode = false, int threads = 1) {
  OpGraph one = op_graph(c, outputs, known);
  return run_graph(std::move(one.graph), one.feeds, how, check_mode, threads);
}

/// Reads the notation that op_test.h defines.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool eat(std::string_view token) {
    skip();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  void need(std::string_view token) {
    if (!eat(token)) fail("expected '{}' at '{}'", token, text_.substr(at_));
  }
  bool done() {
    skip();
    return at_ == text_.size();
  }
  std::string word() {
    skip();
    const std::size_t from = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    return std::string(text_.substr(from, at_ - from));
  }
  std::string rest() { return std::string(trimmed(text_.substr(at_))); }

  Value value() {
    if (eat("none")) return {};
    return tensor();
  }

  Tensor tensor() {
    DType t = DType::f32;
    const std::size_t from = at_;
    if (const auto named = parse_dtype(word())) t = *named;
    else at_ = from;
    if (eat("(")) return Tensor::zeros(t, extents());
    Shape shape;
    std::vector<std::string> items;
    elements(0, shape, items);
    Tensor result(t, shape);
    for (std::size_t i = 0; i < items.size(); ++i) put(result, i, items[i]);
    return result;
  }

  ir::Attribute attribute() {
    skip();
    if (eat("(")) return extents();
    if (text_[at_] == '\'') return item();
    const std::string text = item();
    if (const auto t = parse_dtype(text)) return ir::Type::scalar(*t);
    std::int64_t whole = 0;
    const auto end = text.data() + text.size();
    if (std::from_chars(text.data(), end, whole).ptr == end) return whole;
    return std::stod(text);
  }

 private:
  Shape extents() {
    Shape shape;
    while (!eat(")")) {
      shape.push_back(std::stoll(item()));
      eat(",");
    }
    return shape;
  }

  std::string item() {
    skip();
    if (text_[at_] == '\'') {
      const std::size_t end = text_.find('\'', at_ + 1);
      const std::string text(text_.substr(at_ + 1, end - at_ - 1));
      at_ = end + 1;
      return text;
    }
    const std::size_t from = at_;
    while (at_ < text_.size() &&
           std::string_view(",[]() ;&").find(text_[at_]) == std::string_view::npos)
      ++at_;
    require(at_ > from, "expected a value at '{}'", text_.substr(from));
    return std::string(text_.substr(from, at_ - from));
  }

  void elements(std::size_t axis, Shape& shape, std::vector<std::string>& items) {
    if (!eat("[")) return items.push_back(item());
    std::int64_t n = 0;
    if (shape.size() == axis) shape.push_back(-1);
    while (!eat("]")) {
      elements(axis + 1, shape, items);
      eat(",");
      ++n;
    }
    require(shape[axis] < 0 || shape[axis] == n, "lists of {} and {} elements", shape[axis], n);
    shape[axis] = n;
  }

  template <class T> static void put_as(const Tensor& t, std::size_t i, T value) {
    t.data_as<T>()[i] = value;
  }

  static void put(const Tensor& t, std::size_t i, const std::string& text) {
    if (t.dtype() == DType::string) return put_as(t, i, text);
    if (t.dtype() == DType::boolean) return put_as(t, i, text == "true" || text == "1");
    if (is_integer(t.dtype())) {
      const auto whole = t.dtype() == DType::u64 ? static_cast<std::int64_t>(std::stoull(text))
                                                 : std::stoll(text);
      std::memcpy(t.data_as<char>() + i * byte_size(t.dtype()), &whole, byte_size(t.dtype()));
      return;
    }
    const double x = std::stod(text);
    switch (t.dtype()) {
      case DType::f64: return put_as(t, i, x);
      case DType::f32: return put_as(t, i, static_cast<float>(x));
      case DType::f16: return put_as(t, i, f64_to_f16(x));
      case DType::bf16: return put_as(t, i, f64_to_bf16(x));
      default: return put_as(t, i, static_cast<std::uint8_t>(f64_to_narrow(t.dtype(), x)));
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

bool has_reals(DType t) { return is_float(t) && !is_small_float(t); }

double real(const Tensor& t, std::size_t i) {
  switch (t.dtype()) {
    case DType::f64: return t.data_as<double>()[i];
    case DType::f32: return t.data_as<float>()[i];
    case DType::f16: return f16_to_f32(t.data_as<std::uint16_t>()[i]);
    case DType::bf16: return bf16_to_f32(t.data_as<std::uint16_t>()[i]);
    default: fail("{} is no float", name(t.dtype()));
  }
}

bool near(const Tensor& got, const Tensor& want, double tolerance) {
  if (got.dtype() != want.dtype() || got.shape() != want.shape()) return false;
  if (!has_reals(got.dtype())) return same_bits(got, want);
  for (std::size_t i = 0; i < static_cast<std::size_t>(got.size()); ++i) {
    const double x = real(got, i), y = real(want, i);
    const bool equal = x == y || (std::isnan(x) && std::isnan(y));
    if (!equal && !(std::abs(x - y) <= tolerance * std::max(1.0, std::abs(y)))) return false;
  }
  return true;
}

/// The ways in which each case is run.
struct Way {
  KnownTypes known;
  Execution how;
  const char* text;
  bool check_mode = false;
  int threads = 1;  ///< several share all loops and products
};
constexpr Way ways[] = {
    {KnownTypes::all, Execution::interpreter, "exact types, interpreted"},
    {KnownTypes::all, Execution::compiled, "exact types, compiled"},
    {KnownTypes::ranks, Execution::interpreter, "unknown extents, interpreted"},
    {KnownTypes::ranks, Execution::compiled, "unknown extents, compiled"},
    {KnownTypes::ranks, Execution::compiled, "unknown extents, compiled, check mode", true},
    {KnownTypes::all, Execution::quick, "exact types, three threads", false, 3},
    {KnownTypes::ranks, Execution::quick, "unknown extents, eight threads", false, 8},
    {KnownTypes::nothing, Execution::interpreter, "unknown ranks, interpreted"},
    {KnownTypes::nothing, Execution::compiled, "unknown ranks, compiled"},
};

void check_error(const OpCase& c, const std::string& expected, const std::string& line) {
  for (const Way& way : ways) {
    try {
      execute(c, 1, way.known, way.how, way.check_mode, way.threads);
      ADD_FAILURE() << line << "\n  " << way.text << ": no error";
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(expected), std::string::npos)
          << line << "\n  " << way.text << ": " << e.what();
    }
  }
}

void check_results(const OpCase& c, const std::vector<Tensor>& want, const std::string& line,
                   double tolerance) {
  std::vector<Value> first;
  for (const Way& way : ways) {
    try {
      const std::vector<Value> got = execute(c, want.size(), way.known, way.how, way.check_mode,
                                             way.threads);
      if (first.empty()) first = got;
      for (std::size_t j = 0; j < want.size(); ++j) {
        const Tensor& t = got[j].tensor();
        EXPECT_TRUE(near(t, want[j], tolerance))
            << line << "\n  " << way.text << ": " << test::to_text(t);
        EXPECT_TRUE(same_bits(t, first[j].tensor()))
            << line << "\n  " << way.text << ": other bits, " << test::to_text(t);
      }
    } catch (const std::exception& e) {
      ADD_FAILURE() << line << "\n  " << way.text << ": " << e.what();
    }
  }
}

/// Runs the op in a loop of two trips. Input k is the carried state, and the result its next value.
std::vector<Value> run_twice(const OpCase& c, std::size_t k, Execution how) {
  OpGraph one = op_graph(c, 1, KnownTypes::all);
  ir::Graph& g = one.graph;
  const ir::Node& node = g.node(g.root().nodes.back());
  ir::Builder b(g, ir::RegionId::root);
  g.input_names.emplace_back("trips");
  const ir::ValueId trips = g.add_param(ir::RegionId::root, ir::Type::scalar(DType::i64), "trips");
  one.feeds.emplace_back(Tensor::scalar<std::int64_t>(2));
  ir::LoopParts parts;
  parts.has_trips = true;
  parts.states = 1;
  const auto body = [&](ir::Builder& in, std::span<const ir::ValueId> params) {
    std::vector<ir::ValueId> operands = node.inputs;
    operands[k] = params[2];
    return std::vector{params[1], in(c.op, operands, node.attributes)};
  };
  g.set_results(ir::RegionId::root, {b.loop(parts, {trips, node.inputs[k]}, body)[0]});
  return run_graph(std::move(one.graph), one.feeds, how);
}

/// If the result of the op may be written over an input, checks that this works in a loop.
void check_over_input(const OpCase& c, std::size_t outputs, const std::string& line) {
  const ir::OpDef& op = ir::op(c.op);
  for (std::size_t k = 0; outputs == 1 && k < c.inputs.size(); ++k) {
    if (!ops::may_write_over(op, k) || !c.inputs[k].is_tensor() ||
        std::ranges::count(op.value_inputs, k) > 0)
      continue;
    Value want;
    try {
      OpCase again = c;
      again.inputs[k] = run_op(c)[0];
      if (!(ir::Type::of(again.inputs[k]) == ir::Type::of(c.inputs[k]))) continue;
      want = run_op(again)[0];
      if (!(ir::Type::of(want) == ir::Type::of(c.inputs[k]))) continue;
    } catch (const Error&) { continue; }
    for (const Execution how : {Execution::interpreter, Execution::compiled})
      EXPECT_TRUE(same_bits(run_twice(c, k, how)[0].tensor(), want.tensor()))
          << line << "\n  written over input " << k;
  }
}

void check_line(const std::string& line, double tolerance) {
  Reader r(line);
  OpCase c{r.word(), {}, {}};
  for (bool attributes = false; !r.eat("->");) {
    attributes = r.eat(";") || attributes;
    const std::string name = r.word();
    r.need("=");
    if (attributes) c.attributes.set(name, r.attribute());
    else c.inputs.push_back(r.value());
  }
  if (r.eat("error:")) return check_error(c, r.rest(), line);
  std::vector<Tensor> want;
  do want.push_back(r.tensor());
  while (r.eat("&"));
  require(r.done(), "cannot read the end of '{}': '{}'", line, r.rest());
  check_results(c, want, line, tolerance);
  check_over_input(c, want.size(), line);
  check_batches(c, want.size(), line);
  check_exports(c, want.size(), line);
}

}  // namespace

void check_ops(std::string_view text, double tolerance) {
  for (const std::string& part : split(text, '\n')) {
    const std::string line(trimmed(part));
    if (line.empty() || line[0] == '#') continue;
    try {
      check_line(line, tolerance);
    } catch (const std::exception& e) { ADD_FAILURE() << line << "\n  " << e.what(); }
  }
}

std::vector<Value> run_op(const OpCase& c, std::size_t outputs) {
  return execute(c, outputs, KnownTypes::all, Execution::interpreter);
}

Tensor tensor(std::string_view text) { return Reader(text).tensor(); }

std::string to_text(const Tensor& t) {
  std::string text = rondel::to_text(t.dtype(), t.shape()) + " {";
  for (std::size_t i = 0; i < static_cast<std::size_t>(t.size()) && i < 64; ++i) {
    text += i == 0 ? "" : ", ";
    if (t.dtype() == DType::string) text += t.data_as<std::string>()[i];
    else if (t.dtype() == DType::boolean) text += t.data_as<bool>()[i] ? "true" : "false";
    else if (has_reals(t.dtype())) text += fmt::format("{}", real(t, i));
    else {
      std::int64_t bits = 0;
      std::memcpy(&bits, t.data_as<char>() + i * byte_size(t.dtype()), byte_size(t.dtype()));
      text += std::to_string(bits);
    }
  }
  return text + "}";
}

}  // namespace rondel::test
