#include "frontends/deepx/operands.h"

#include "base/text.h"
#include "frontends/deepx/scalars.h"
#include "ops/compose.h"

#include <algorithm>
#include <limits>

namespace rondel::deepx {
namespace {

bool is_tensor(Category c) { return c == Category::tensor || c == Category::tensors; }
bool is_variadic(Category c) { return c == Category::tensors || c == Category::numbers; }

std::string_view written_category(Category c) {
  switch (c) {
    case Category::tensor: return "tensor";
    case Category::tensors: return "listtensor";
    case Category::vector: return "vector";
    default: return "var";
  }
}

std::vector<std::string> names_of(const Program& p) {
  std::vector<std::string> all;
  for (const auto& [name, entry] : p.names().all()) all.push_back(name);
  return all;
}

const Entry& entry_named(const Program& p, const std::string& name, const Position& at) {
  if (const Entry* e = p.names().find(name)) return *e;
  const std::string near = closest(name, names_of(p));
  fail_at_position(at, "there is no '{}'{}", name,
                   near.empty() ? "" : "; did you mean '" + near + "'?");
}

std::string two_way_names() {
  std::vector<std::string_view> names;
  for (const Instruction* i : all_instructions())
    if (i->two_way) names.push_back(i->name);
  return join(names);
}

DType dtype_taken(Takes t, DType instruction) {
  switch (t) {
    case Takes::integer: return DType::i64;
    case Takes::boolean: return DType::boolean;
    default: return instruction;
  }
}

/// Whether b broadcasts to a.
bool expands_to(const Shape& b, const Shape& a) {
  if (b.size() > a.size()) return false;
  for (std::size_t k = 0; k < b.size(); ++k)
    if (const auto own = b[b.size() - 1 - k]; own != 1 && own != a[a.size() - 1 - k]) return false;
  return true;
}

std::string expand_hint(const TensorOperand& x, const TensorOperand& y) {
  const bool first = expands_to(x.shape, y.shape), second = expands_to(y.shape, x.shape);
  if (!first && !second) return "";
  const TensorOperand &from = first ? x : y, &to = first ? y : x;
  return fmt::format("; expand {} [{}] -> ... makes {} larger", from.name, join(to.shape, " "),
                     from.name);
}

}  // namespace

const TensorEntry& tensor_named(const Program& p, const std::string& name, const Position& at) {
  const Entry& e = entry_named(p, name, at);
  const auto* t = std::get_if<TensorEntry>(&e);
  if (t == nullptr) fail_at_position(at, "'{}' is {}; expected a tensor", name, kind_text(e));
  return *t;
}

Operands::Operands(const Program& p, const Instruction& row, const Statement& line)
    : program_(p), row_(row), line_(line) {
  const Position end = line.at;
  if (line.arrow == Arrow::backward && !row.two_way)
    fail_at_position(line.at, "'{}' has no gradient; '<-' is for: {}", row.name, two_way_names());
  // An instruction without outputs may have its operands on either side of the arrow.
  const bool either_side = row.outputs.empty() && line.inputs.empty();
  match(row.inputs, either_side ? line.outputs : line.inputs, end, inputs_);
  if (!row.outputs.empty()) match(row.outputs, line.outputs, end, outputs_);
  if (row.outputs.empty() && !either_side && !line.outputs.empty())
    fail_at_position(line.outputs[0].at, "'{}' writes nothing; expected {}", row.name, usage(row));
  find_dtype();
  for (Slot& s : inputs_) look_up(s);
  for (Slot& s : outputs_) look_up(s);
  for (const std::vector<Slot>* slots : {&inputs_, &outputs_})
    for (const Slot& s : *slots) check(s);
  if (row.one_shape) check_shapes();
  if (row.check) row.check(*this);
}

void Operands::fail_count(const std::vector<OperandDef>& defs, const Position& at,
                          std::size_t given) const {
  const auto needed = static_cast<std::size_t>(
      std::ranges::count(defs, false, &OperandDef::optional));
  const bool variadic = std::ranges::any_of(defs, is_variadic, &OperandDef::category);
  const std::string count = variadic               ? fmt::format("{} or more", needed)
                            : needed < defs.size() ? fmt::format("{} to {}", needed, defs.size())
                                                   : std::to_string(needed);
  fail_at_position(at, "'{}' has {} {}{}, not {}; expected {}", row_.name, count,
                   &defs == &row_.inputs ? "input" : "output", count == "1" ? "" : "s", given,
                   usage(row_, line_.arrow == Arrow::backward));
}

/// Matches the written operands to their definitions. A variadic operand takes all that the others
/// leave over.
void Operands::match(const std::vector<OperandDef>& defs, const std::vector<Operand>& written,
                     const Position& end, std::vector<Slot>& slots) {
  std::size_t needed = 0;
  bool variadic = false;
  for (const OperandDef& d : defs) {
    needed += d.optional ? 0 : 1;
    variadic = variadic || is_variadic(d.category);
  }
  const bool listed = variadic && std::ranges::any_of(written, [](const Operand& o) {
                        return o.items && (o.category.empty() || o.category == "listtensor");
                      });
  const bool takes_rest = variadic && !listed;
  if (written.size() < needed || (!takes_rest && written.size() > defs.size()))
    fail_count(defs, written.size() > defs.size() ? written[defs.size()].at : end, written.size());
  std::size_t spare = written.size() - needed, at = 0;
  slots.reserve(defs.size());
  for (const OperandDef& d : defs) {
    Slot& s = slots.emplace_back();
    s.def = &d;
    std::size_t count = d.optional ? 0 : 1;
    if (takes_rest ? is_variadic(d.category) : (d.optional && spare > 0)) {
      const std::size_t more = takes_rest ? spare : 1;
      count += more;
      spare -= more;
    }
    if (count == 0) continue;
    s.written = &written[at];
    for (std::size_t k = 0; k < count; ++k) s.parts.push_back(&written[at++]);
    if (is_tensor(d.category)) look_up_tensors(s);
    if (d.category == Category::numbers) numbers_of(s);
  }
}

void Operands::look_up_tensors(Slot& s) {
  const auto add = [&](const std::string& name, const Position& at, const Operand* written) {
    const TensorEntry& t = tensor_named(program_, name, at);
    s.tensors.push_back({name, at, t.dtype, t.shape, written});
  };
  for (const Operand* o : s.parts) {
    if (o->items && s.def->category == Category::tensors) {
      for (const Word& w : *o->items) add(w.text, w.at, o);
    } else if (o->items || o->quoted) {
      fail_at_position(o->at, "expected the name of a tensor as '{}' of '{}'", s.def->name,
                       row_.name);
    } else {
      add(o->text, o->at, o);
    }
  }
  if (s.tensors.empty()) fail_at_position(s.written->at, "an empty list of tensors");
}

void Operands::numbers_of(Slot& s) {
  for (const Operand* o : s.parts) {
    if (o->items) {
      s.is_list = true;
      s.words.insert(s.words.end(), o->items->begin(), o->items->end());
    } else {
      s.words.push_back({o->text, o->at});
    }
  }
  s.is_list = s.is_list || s.parts.size() > 1 || s.written->category == "vector";
}

/// The instruction's dtype: the one after @, else the dtype of the tensors that share it, else a
/// dtype that is written before an operand.
void Operands::find_dtype() {
  if (line_.dtype && line_.dtype->text != "any") {
    dtype_ = dtype_of(*line_.dtype);
    has_dtype_ = true;
  }
  const auto each = [&](const auto& use) {
    for (const std::vector<Slot>* slots : {&inputs_, &outputs_})
      for (const Slot& s : *slots)
        if (!has_dtype_ && s.written != nullptr && s.def->takes == Takes::same) use(s);
  };
  each([&](const Slot& s) {
    if (s.tensors.empty()) return;
    dtype_ = s.tensors[0].dtype;
    has_dtype_ = true;
  });
  each([&](const Slot& s) {
    const std::vector<Word>& given = s.written->dtypes;
    if (given.empty() || given[0].text == "any") return;
    dtype_ = dtype_of(given[0]);
    has_dtype_ = true;
  });
  if (has_dtype_ && !row_.dtypes.contains(dtype_))
    fail_at_position(line_.dtype ? line_.dtype->at : line_.at, "'{}' takes {}; {} is none of them",
                     row_.name, join(row_.dtypes.all, ", ", dtype_text), dtype_text(dtype_));
  if (row_.needs_dtype && !has_dtype_)
    fail_at_position(line_.at, "'{}' needs a dtype: {}@float32", row_.name, row_.name);
}

/// Resolves an operand that is not a tensor.
void Operands::look_up(Slot& s) {
  if (s.written == nullptr || is_tensor(s.def->category)) return;
  const Operand& o = *s.written;
  switch (s.def->category) {
    case Category::numbers:
      s.number = s.is_list ? parse_vector(s.words, dtype_) : parse_scalar(s.words[0], dtype_);
      return;
    case Category::name:
      if (o.items || o.quoted || is_number(o.text))
        fail_at_position(o.at, "expected a name, as in {}", usage(row_));
      s.text = o.text;
      return;
    case Category::text:
      if (o.items) fail_at_position(o.at, "expected {} of '{}'", s.def->name, row_.name);
      s.text = o.text;
      return;
    default: break;
  }
  const bool is_vector = s.def->category == Category::vector;
  const DType wanted = dtype_taken(s.def->takes, dtype_);
  if (o.items) {
    if (!is_vector)
      fail_at_position(o.at, "expected a number or an argument as '{}' of '{}'", s.def->name,
                       row_.name);
    s.number = parse_operand(o, wanted, s.def->name);
  } else if (program_.names().find(o.text) == nullptr && is_number(o.text)) {
    s.number = parse_operand(o, wanted, s.def->name);
  } else {
    const Entry& e = entry_named(program_, o.text, o.at);
    const auto* argument = std::get_if<Argument>(&e);
    const auto* vector = std::get_if<Vector>(&e);
    if (std::holds_alternative<TensorEntry>(e) || (vector != nullptr && !is_vector))
      fail_at_position(o.at, "'{}' is {}; expected {}", o.text, kind_text(e),
                       is_vector ? "a vector" : "an argument or a number");
    TypeAnnotation annotation{{}, o};
    // An argument can also be used as a vector of one.
    if (is_vector) annotation.operand.category = "";
    require_true(annotation, o.text, e);
    s.number = converted(argument != nullptr ? argument->value : vector->values, wanted, o.at,
                         o.text);
  }
  if (is_vector && s.number.rank() == 0) s.number = s.number.reshaped({1});
}

/// Checks the category and dtypes that are written before an operand, and that tensors have the
/// instruction's dtype.
void Operands::check(const Slot& s) const {
  if (s.written == nullptr) return;
  const Operand& o = *s.written;
  const bool fixed = s.def->category != Category::name && s.def->category != Category::text &&
                     s.def->category != Category::numbers;
  if (fixed && !o.category.empty() && o.category != written_category(s.def->category))
    fail_at_position(o.at, "'{}' of '{}' is a {}, not a {}", s.def->name, row_.name,
                     written_category(s.def->category), o.category);
  for (const TensorOperand& t : s.tensors) {
    const bool fits = s.def->takes == Takes::any ||
                      (s.def->takes == Takes::integer
                           ? is_integer(t.dtype)
                           : t.dtype == dtype_taken(s.def->takes, dtype_));
    if (!fits)
      fail_at_position(t.at, "'{}' is {}; expected {}", t.name, type_text(t.dtype, t.shape),
                       s.def->takes == Takes::integer
                           ? "integers"
                           : dtype_text(dtype_taken(s.def->takes, dtype_)));
    const bool matches = std::ranges::any_of(t.written->dtypes, [&](const Word& w) {
      return w.text == "any" || dtype_of(w) == t.dtype;
    });
    if (!t.written->dtypes.empty() && !matches)
      fail_at_position(t.written->dtypes[0].at, "'{}' is {}", t.name, type_text(t.dtype, t.shape));
  }
  if (s.tensors.empty()) check_words(s);
}

/// Checks the annotation of numbers and texts. The annotation of a name is checked by `Change`.
void Operands::check_words(const Slot& s) const {
  const Category category = s.def->category;
  if (category == Category::name) return;
  for (const Operand* o : s.parts) {
    const bool may_be_vector = category == Category::numbers || category == Category::vector;
    if (!o->category.empty() && o->category != "var" && (!may_be_vector || o->category != "vector"))
      fail_at_position(o->at, "'{}' of '{}' is a {}, not a {}", s.def->name, row_.name,
                       written_category(category), o->category);
    for (const Word& w : o->dtypes) {
      if (w.text == "any" || (category == Category::text && w.text == "string")) continue;
      const DType declared = dtype_of(w);
      if (category == Category::text)
        fail_at_position(w.at, "'{}' of '{}' is a string", s.def->name, row_.name);
      if (category == Category::numbers && o->dtypes.size() == 1 && declared != dtype_)
        fail_at_position(w.at, "'{}' of '{}' is {}", s.def->name, row_.name, dtype_text(dtype_));
    }
  }
}

TypeAnnotation Operands::annotation_of(const Slot& s) const {
  return {line_.dtype, s.written == nullptr ? Operand() : *s.written};
}

void Operands::check_shapes() const {
  const TensorOperand* first = nullptr;
  for (const std::vector<Slot>* slots : {&inputs_, &outputs_})
    for (const Slot& s : *slots)
      for (const TensorOperand& t : s.tensors) {
        if (first == nullptr) first = &t;
        if (t.shape == first->shape) continue;
        fail_at_position(t.at, "'{}' is {} and '{}' is {}; '{}' takes tensors of one shape{}",
                         first->name, type_text(first->dtype, first->shape), t.name,
                         type_text(t.dtype, t.shape), row_.name, expand_hint(*first, t));
      }
}

const Entry& Change::entry(const Slot& s) const {
  const Entry& e = entry_named(program_, s.text, s.written->at);
  require_true(operands_.annotation_of(s), s.text, e);
  return e;
}

void Change::set(const Slot& s, Entry e) {
  require_true(operands_.annotation_of(s), s.text, e);
  program_.set(s.text, std::move(e));
}

void Change::rename(const TensorOperand& t, const Slot& to) {
  require_free(to);
  Entry e = tensor(t);
  TypeAnnotation annotation = operands_.annotation_of(to);
  const bool is_text = annotation.operand.category == "var" &&
                       annotation.operand.dtypes.size() == 1 &&
                       annotation.operand.dtypes[0].text == "string";
  if (is_text) annotation.operand = {};
  require_true(annotation, to.text, e);
  program_.set(to.text, std::move(e));
  program_.erase(t.name);
}

void Change::require_free(const Slot& s) const {
  if (const Entry* e = find(s))
    fail_at_position(s.written->at, "'{}' is {} already; deltensor or argdel deletes it", s.text,
                     kind_text(*e));
}

void Change::make_tensor(const Slot& name, DType dtype, Shape shape) {
  require_free(name);
  program_.surroundings().check_room(dtype, shape);
  set(name, TensorEntry{dtype, std::move(shape), Zeros{}});
}

Shape shape_from(const ir::Ints& extents, DType dtype, const Position& at) {
  if (extents.size() > most_dims)
    fail_at_position(at, "{} dims; a tensor has at most {}", extents.size(), most_dims);
  std::int64_t bytes = static_cast<std::int64_t>(byte_size(dtype));
  constexpr std::int64_t most = std::int64_t{1} << 47;  // the size of the address space
  for (const std::int64_t n : extents) {
    if (n < 0) fail_at_position(at, "the extent {} is negative", n);
    if (n > 0 && bytes > most / n)
      throw Error(Blame::limit,
                  fmt::format("{} is more than any memory holds", type_text(dtype, extents)),
                  {{to_text(at)}});
    bytes *= n;
  }
  return extents;
}

ir::Ints axes_from(const ir::Ints& given, std::size_t rank, const Position& at) {
  ir::Ints axes;
  const auto count = static_cast<std::int64_t>(rank);
  for (const std::int64_t a : given) {
    if (a < -count || a >= count)
      fail_at_position(at, "there is no dim {} in a tensor of {} dims", a, rank);
    axes.push_back(a < 0 ? a + count : a);
    if (std::ranges::count(axes, axes.back()) > 1)
      fail_at_position(at, "dim {} is given twice", axes.back());
  }
  return axes;
}

}  // namespace rondel::deepx
