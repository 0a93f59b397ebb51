// Blocks: each is one `loop` whose carried states are the tensors that its lines write.
#include "frontends/deepx/blocks.h"

#include "base/text.h"
#include "frontends/deepx/operands.h"
#include "frontends/deepx/scalars.h"

#include <algorithm>
#include <array>
#include <set>

namespace rondel::deepx {
namespace {

using ir::ValueId;

constexpr std::array rows{
    BlockRow{"loop", "loop n [-> t] {",
             "runs its lines n times; t, where it is given, is the number of the trip, from 0"},
    BlockRow{"while", "while t [n] {",
             "runs its lines as long as the tensor t, a bool, is true, at most n times; t is asked "
             "before each trip"},
};

const BlockRow& row_of(const Statement& s) {
  return *std::ranges::find(rows, s.name, &BlockRow::name);
}

/// The names that statements use, and the names that they write.
struct Uses {
  std::set<std::string> written, named;

  void add(const std::vector<Operand>& operands, bool writes) {
    for (const Operand& o : operands) {
      if (o.items)
        for (const Word& w : *o.items) named.insert(w.text);
      else named.insert(o.text);
      if (writes) written.insert(o.text);
    }
  }
  void add(const Statement& s) {
    const bool backward = s.arrow == Arrow::backward;
    add(s.inputs, false);
    add(s.outputs, !backward);
    if (backward) add_gradients(s);
    for (const Statement& inner : s.body) add(inner);
  }

 private:
  void add_gradients(const Statement& s) {
    bool by_default = true;
    for (const std::vector<Operand>* list : {&s.inputs, &s.outputs})
      for (const Operand& o : *list) by_default = by_default && !o.gradient;
    const auto add = [&](const Operand& o, const std::string& of, bool writes) {
      const std::string name = by_default ? of + "_grad" : o.gradient ? o.gradient->text : "";
      named.insert(name);
      if (writes) written.insert(name);
    };
    for (const Operand& o : s.outputs) add(o, o.text, false);
    for (const Operand& o : s.inputs) {
      if (!o.items) add(o, o.text, true);
      else if (by_default)
        for (const Word& w : *o.items) add(o, w.text, true);
    }
  }
};

bool is_tensor(const Names& names, const std::string& name) {
  const Entry* e = names.find(name);
  return e != nullptr && std::holds_alternative<TensorEntry>(*e);
}

/// Appends one block.
class Block {
 public:
  Block(Program& p, Scope& scope, const Statement& s, const AppendLine& append_line)
      : program_(p), scope_(scope), s_(s), append_line_(append_line) {
    if (s.dtype) fail_at_position(s.dtype->at, "a block has no dtype");
    is_loop_ = s.name == "loop";
    const std::size_t least = 1, most = is_loop_ ? 1 : 2;
    for (const std::vector<Operand>* list : {&s.inputs, &s.outputs})
      for (const Operand& o : *list)
        if (o.gradient) fail_at_position(o.gradient->at, "the head of a block has no gradients");
    if (s.inputs.size() < least || s.inputs.size() > most || s.arrow == Arrow::backward ||
        s.outputs.size() > (is_loop_ ? 1U : 0U) || (s.outputs.empty() && s.arrow != Arrow::none))
      fail_at_position(s.at, "expected {}", row_of(s).usage);
  }

  void append() {
    find_uses();
    ir::LoopParts parts;
    std::vector<ValueId> inputs;
    if (const Operand* count = is_loop_               ? &s_.inputs[0]
                               : s_.inputs.size() > 1 ? &s_.inputs[1]
                                                      : nullptr) {
      parts.has_trips = true;
      inputs.push_back(program_.input(number_of(*count)));
    }
    if (!is_loop_) {
      parts.has_go = true;
      inputs.push_back(condition(scope_));
    }
    parts.states = states_.size();
    parts.fixed.assign(states_.size(), 1);
    for (const std::string& name : states_) inputs.push_back(before_.at(name));
    scope_.b.source(fmt::format("'{}'", head()));
    const std::vector<ValueId> finals = scope_.b.loop(
        parts, std::move(inputs),
        [&](ir::Builder& b, std::span<const ValueId> params) { return body(b, params); });
    scope_.b.source("");
    for (std::size_t k = 0; k < states_.size(); ++k) program_.write(scope_, states_[k], finals[k]);
  }

 private:
  /// The first line, without its brace and its metadata.
  std::string head() const {
    Statement first = s_;
    first.body.clear();
    first.metadata.clear();
    const std::string text = to_text(first);
    return text.substr(0, text.rfind(" {"));
  }

  /// Finds the values of all tensors that the block uses: written ones become carried states, the
  /// others are captured from the enclosing scope.
  void find_uses() {
    Uses uses;
    uses.add(s_);
    if (scope_.states != nullptr) before_ = *scope_.states;
    for (const std::string& name : uses.named)
      if (is_tensor(program_.names(), name))
        before_[name] = program_.read(scope_, name, tensor_named(program_, name, s_.at));
    for (const std::string& name : uses.written)
      if (is_tensor(program_.names(), name)) states_.push_back(name);
  }

  Tensor number_of(const Operand& o) const {
    if (!o.category.empty() && o.category != "var")
      fail_at_position(o.at, "the number of trips is a var, not a {}", o.category);
    Tensor n;
    const Entry* e = o.items || o.quoted ? nullptr : program_.names().find(o.text);
    if (e == nullptr && !o.items && is_number(o.text)) n = parse_operand(o, DType::i64);
    else if (e != nullptr && std::holds_alternative<Argument>(*e)) {
      require_true({{}, o}, o.text, *e);
      n = converted(std::get<Argument>(*e).value, DType::i64, o.at, o.text);
    } else fail_at_position(o.at, "expected a number or an argument: how many trips");
    if (integer_of(n) < 0) fail_at_position(o.at, "{} trips are negative", integer_of(n));
    return n;
  }

  const TensorEntry& one_element(const Operand& o, const DTypes& dtypes) const {
    const TensorEntry& t = tensor_named(program_, o.text, o.at);
    require_true({{}, o}, o.text, t);
    if (!dtypes.contains(t.dtype) || element_count(t.shape) != 1)
      fail_at_position(o.at, "'{}' is {}; expected one element of {}", o.text,
                       type_text(t.dtype, t.shape), dtypes.name);
    return t;
  }

  /// The condition of a `while`, as a scalar.
  ValueId condition(const Scope& at) const {
    const Operand& o = s_.inputs[0];
    const TensorEntry& t = one_element(o, booleans);
    ir::Builder b = at.b;
    const ValueId v = at.states == nullptr ? before_.at(o.text) : at.states->at(o.text);
    return t.shape.empty() ? v : b("reshape", {v, b.integers({})}, {{"allowzero", 1}});
  }

  std::vector<ValueId> body(ir::Builder& b, std::span<const ValueId> params) {
    std::map<std::string, ValueId, std::less<>> now = before_;
    for (std::size_t k = 0; k < states_.size(); ++k) now[states_[k]] = params[2 + k];
    Scope inner{b, &now, scope_.trips};
    inner.trips.push_back(params[0]);
    write_trip(inner);
    for (const Statement& s : s_.body) {
      inner.source = s.is_block ? "" : fmt::format("'{}'", text_of(s));
      append_line_(inner, s);
    }
    std::vector<ValueId> results{is_loop_ ? params[1] : condition(inner)};
    for (const std::string& name : states_) results.push_back(now.at(name));
    return results;
  }

  static std::string text_of(Statement s) {
    s.metadata.clear();
    return to_text(s);
  }

  /// Writes the trip number to the tensor that the head names.
  void write_trip(Scope& inner) {
    if (s_.outputs.empty()) return;
    const Operand& o = s_.outputs[0];
    const TensorEntry& t = one_element(o, numbers);
    ir::Builder& b = inner.b;
    ValueId trip = b("cast", {inner.trips.back()}, {{"to", ir::Type::scalar(t.dtype)}});
    if (!t.shape.empty()) trip = b("reshape", {trip, b.integers(t.shape)}, {{"allowzero", 1}});
    program_.write(inner, o.text, trip);
  }

  Program& program_;
  Scope& scope_;
  const Statement& s_;
  const AppendLine& append_line_;
  bool is_loop_ = false;
  std::vector<std::string> states_;                     ///< sorted
  std::map<std::string, ValueId, std::less<>> before_;  ///< values before the block
};

}  // namespace

std::span<const BlockRow> block_rows() { return rows; }

bool is_block_name(std::string_view name) {
  return std::ranges::find(rows, name, &BlockRow::name) != rows.end();
}

void append_block(Program& p, Scope& scope, const Statement& s, const AppendLine& append_line) {
  Block(p, scope, s, append_line).append();
}

}  // namespace rondel::deepx
