#include "lowering/shape_class.h"

#include "base/dense_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

namespace rondel::lowering {
namespace {

/// Symbol number `n` of a shape class. The first symbols are made once, because inputs are
/// classified at run time.
ir::Extent numbered(std::size_t n) {
  const auto make = [](std::size_t i) { return ir::Extent::own(fmt::format("s{}", i)); };
  static const auto first = [&] {
    std::array<ir::Extent, 64> made;
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = make(i);
    return made;
  }();
  return n < first.size() ? first[n] : make(n);
}

/// The position of `x` in a short list; appends `x` if it is not there.
template <class T> std::size_t find_or_add(std::vector<T>& list, const T& x) {
  const auto at = std::ranges::find(list, x);
  const auto position = static_cast<std::size_t>(at - list.begin());
  if (at == list.end()) list.push_back(x);
  return position;
}

/// Gives equal extents equal symbols, so that types inferred for the class hold for all its inputs.
class Symbols {
 public:
  ir::Extent of(std::int64_t extent, const ir::Extent* declared) {
    if (extent == 1 || (declared != nullptr && declared->known())) return extent;
    return numbered(find_or_add(extents_, extent));
  }
  std::int64_t value_of(const ir::Extent& e) const {
    for (std::size_t n = 0; n < extents_.size(); ++n)
      if (e == numbered(n)) return extents_[n];
    return e.value;
  }

 private:
  std::vector<std::int64_t> extents_;
};

/// The extent of a list's element; unknown if the element is negative.
ir::Extent element_extent(std::int64_t value, const ir::Extent* declared, Symbols& symbols) {
  if (value < 0) return {};
  return value > ir::largest_listed ? ir::Extent(value) : symbols.of(value, declared);
}

using Named = std::pair<ir::Symbol, ir::Extent>;

/// Finds the extents of a class that are declared as expressions over names of others. `holds`:
/// whether an expression over these names is the extent.
class Relations {
 public:
  using Holds = std::function<bool(const RelatedExtent&)>;
  Relations(ShapeClass& c, std::span<const ir::Type> declared, std::span<const ExtentList> lists)
      : class_(c), declared_(declared), lists_(lists) {}

  void find(const Holds& holds) {
    each([&](const ir::Extent& e, const ir::Extent&) { any_ = any_ || is_expression(e); });
    if (!any_) return;
    each([&](const ir::Extent& e, const ir::Extent& in_class) {
      if (e.symbolic() && e.symbol.is_name() && find(e.symbol) == names_.end())
        names_.emplace_back(e.symbol, in_class);
    });
    each([&](const ir::Extent& e, const ir::Extent& in_class) {
      if (!is_expression(e) || !in_class.symbolic()) return;
      RelatedExtent related{in_class.symbol, e, {}};
      for (const ir::Symbol name : e.symbol.names()) {
        const auto at = find(name);
        if (at == names_.end() || at->second == in_class) return;
        related.names.push_back(*at);
      }
      const bool again = std::ranges::count(class_.related, in_class.symbol,
                                            &RelatedExtent::extent) > 0;
      if (!again && holds(related)) class_.related.push_back(std::move(related));
    });
  }

 private:
  static bool is_expression(const ir::Extent& e) { return e.symbolic() && !e.symbol.is_name(); }

  /// Calls f with each declared extent, and what it is in the class.
  template <class F> void each(const F& f) const {
    for (std::size_t k = 0; k < class_.types.size() && k < declared_.size(); ++k) {
      const ir::Type &d = declared_[k], &t = class_.types[k];
      if (!d.is_tensor() || !t.is_tensor() || !d.has_rank() || d.rank() != t.rank()) continue;
      for (std::int64_t a = 0; a < d.rank(); ++a) f(d.extent(a), t.extent(a));
    }
    for (const ExtentList& list : lists_) {
      const ir::Extents& elements = class_.elements[list.input];
      for (std::size_t i = 0; i < elements.size() && i < list.declared.size(); ++i)
        if (elements[i].known_or_symbolic()) f(list.declared[i], elements[i]);
    }
  }
  std::vector<Named>::const_iterator find(ir::Symbol name) const {
    return std::ranges::find(names_, name, &Named::first);
  }

  ShapeClass& class_;
  const std::span<const ir::Type> declared_;
  const std::span<const ExtentList> lists_;
  std::vector<Named> names_;
  bool any_ = false;
};

/// Encodes a class as integers. Symbols are numbered in order of first use.
class KeyWriter {
 public:
  std::vector<std::int64_t> write(const ShapeClass& c) {
    for (std::size_t k = 0; k < c.types.size(); ++k) {
      add(c.types[k].is_tensor() ? static_cast<std::int64_t>(c.types[k].dtype()) : -1);
      if (!c.types[k].is_tensor()) continue;
      add(c.contiguous[k] ? 1 : c.dense_rows[k] ? 2 : 0);
      add(c.types[k].extents());
      add(c.elements[k]);
      add(c.values[k]);
    }
    for (const RelatedExtent& related : c.related) {
      ir::Extents extents{ir::Extent(related.extent)};
      for (const auto& [_, extent] : related.names) extents.push_back(extent);
      add(extents);
      const std::string& text = related.declared.symbol.text();
      add_bytes(text.data(), text.size());
    }
    return std::move(key_);
  }

 private:
  void add(std::int64_t part) { key_.push_back(part); }
  void add(const ir::Extents& extents) {
    add(std::ssize(extents));
    for (const ir::Extent& e : extents) {
      if (e.known()) add(e.value);
      else if (!e.symbolic()) add(-1);
      else add(-2 - static_cast<std::int64_t>(find_or_add(symbols_, e.symbol)));
    }
  }
  void add(const Tensor& value) {
    if (!value.defined()) return add(-1);
    add(value.size());
    const Tensor packed = value.packed();
    if (value.dtype() != DType::string)
      return add_bytes(packed.data_as<char>(),
                       static_cast<std::size_t>(packed.size()) * byte_size(packed.dtype()));
    for (std::int64_t i = 0; i < packed.size(); ++i) {
      const std::string& text = packed.data_as<std::string>()[i];
      add(std::ssize(text));
      add_bytes(text.data(), text.size());
    }
  }
  void add_bytes(const char* bytes, std::size_t n) {
    for (std::size_t at = 0; at < n; at += sizeof(std::int64_t)) {
      std::int64_t part = 0;
      std::memcpy(&part, bytes + at, std::min(sizeof(part), n - at));
      add(part);
    }
  }

  std::vector<std::int64_t> key_;
  std::vector<ir::Symbol> symbols_;
};

}  // namespace

ir::Integer RelatedExtent::expression() const {
  return ir::substitute(declared, [&](ir::Symbol name) {
    return ir::Integer(std::ranges::find(names, name, &Named::first)->second);
  });
}

std::set<ir::Symbol> ShapeClass::names(std::size_t first_list) const {
  return names(0, first_list);
}
std::set<ir::Symbol> ShapeClass::names_from(std::size_t first) const { return names(first, first); }

std::set<ir::Symbol> ShapeClass::names(std::size_t first_type, std::size_t first_list) const {
  std::set<ir::Symbol> all;
  const auto add = [&](const ir::Extents& extents) {
    for (const ir::Extent& e : extents)
      if (e.symbolic()) all.insert(e.symbol);
  };
  for (std::size_t k = first_type; k < types.size(); ++k)
    if (types[k].is_tensor() && types[k].has_rank()) add(types[k].extents());
  for (std::size_t k = first_list; k < elements.size(); ++k) add(elements[k]);
  return all;
}

bool is_short_list(const ir::Type& t, std::int64_t most) {
  if (!t.is_tensor() || t.dtype() != DType::i64 || !t.has_rank() || t.rank() > 1) return false;
  return t.rank() == 0 || (t.extent(0).known() && t.extent(0).value <= most);
}

ShapeClass classify(std::span<const Value> inputs, std::span<const ir::Type> declared,
                    std::span<const std::size_t> value_inputs, std::span<const ExtentList> lists) {
  ShapeClass c;
  c.values.resize(inputs.size());
  c.elements.resize(inputs.size());
  Symbols symbols;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (!inputs[k].is_tensor()) {
      c.types.emplace_back();
      c.contiguous.push_back(true);
      c.dense_rows.push_back(false);
      continue;
    }
    const Tensor& t = inputs[k].tensor();
    const bool ranked = k < declared.size() && declared[k].is_tensor() && declared[k].has_rank() &&
                        declared[k].rank() == t.rank();
    ir::Extents extents;
    for (std::int64_t a = 0; a < t.rank(); ++a)
      extents.push_back(symbols.of(t.shape()[static_cast<std::size_t>(a)],
                                   ranked ? &declared[k].extent(a) : nullptr));
    c.types.push_back(ir::Type::tensor(t.dtype(), std::move(extents)));
    c.contiguous.push_back(t.contiguous());
    c.dense_rows.push_back(has_dense_rows(t));
  }
  for (const std::size_t k : value_inputs) {
    if (k >= inputs.size() || !inputs[k].is_tensor()) continue;
    c.values[k] = inputs[k].tensor().copy();
  }
  for (const ExtentList& list : lists) {
    const ir::Ints values = ir::integers_of(inputs[list.input].tensor());
    ir::Extents& elements = c.elements[list.input];
    for (std::size_t i = 0; i < values.size(); ++i)
      elements.push_back(element_extent(
          values[i], i < list.declared.size() ? &list.declared[i] : nullptr, symbols));
  }
  Relations(c, declared, lists).find([&](const RelatedExtent& related) {
    const auto value_of = [&](ir::Symbol name) -> std::optional<std::int64_t> {
      return symbols.value_of(std::ranges::find(related.names, name, &Named::first)->second);
    };
    return ir::evaluate(related.declared, value_of) == symbols.value_of(ir::Extent(related.extent));
  });
  c.key = KeyWriter().write(c);
  return c;
}

ir::TypeEnvironment type_environment_for(const ir::Graph& g, const ShapeClass& c) {
  ir::TypeEnvironment k = ir::type_environment(g);
  k.name_unknowns = true;
  for (std::size_t i = 0; i < g.root().params.size(); ++i) {
    const ir::ValueId v = g.root().params[i];
    k.types[ir::index(v)] = c.types[i];
    if (c.values[i].defined()) k.values[static_cast<std::int32_t>(v)] = c.values[i];
    if (!c.elements[i].empty())
      k.elements[static_cast<std::int32_t>(v)] = {c.elements[i].begin(), c.elements[i].end()};
  }
  ir::infer_region(g, ir::RegionId::root, k);
  return k;
}

ShapeClass class_of(std::span<const ir::Type> declared, std::span<const ExtentList> lists) {
  ShapeClass c;
  c.values.resize(declared.size());
  c.elements.resize(declared.size());
  c.contiguous.assign(declared.size(), true);
  c.dense_rows.assign(declared.size(), false);
  std::map<ir::Symbol, std::size_t> named;
  std::size_t next = 0;
  const auto as_symbols = [&](ir::Extents extents) {
    for (ir::Extent& e : extents) {
      if (e.known()) continue;
      const std::size_t number = e.symbolic() ? named.try_emplace(e.symbol, next).first->second
                                              : next;
      if (number == next) ++next;
      e = numbered(number);
    }
    return extents;
  };
  for (const ir::Type& t : declared) {
    ir::Extents extents = as_symbols(t.extents());
    c.types.push_back(ir::Type::tensor(t.dtype(), std::move(extents)));
  }
  for (const ExtentList& list : lists) c.elements[list.input] = as_symbols(list.declared);
  Relations(c, declared, lists).find([](const RelatedExtent&) { return true; });
  c.key = KeyWriter().write(c);
  return c;
}

}  // namespace rondel::lowering
