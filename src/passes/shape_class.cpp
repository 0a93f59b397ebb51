#include "passes/shape_class.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace rondel::passes {
namespace {

/// Equal extents get equal symbols, so what is inferred for the class holds for all its members.
class Symbols {
 public:
  ir::Extent of(std::int64_t extent, const ir::Extent* declared) {
    if (extent == 1 || (declared != nullptr && declared->known())) return extent;
    const auto [it, fresh] = symbols_.try_emplace(extent, symbols_.size());
    return ir::Extent::own(fmt::format("s{}", it->second));
  }

 private:
  std::map<std::int64_t, std::size_t> symbols_;
};

std::string bytes_of(const Tensor& t) {
  const Tensor packed = t.packed();
  if (t.dtype() == DType::string) {
    std::string all;
    for (std::int64_t i = 0; i < packed.size(); ++i)
      all += std::to_string(packed.data_as<std::string>()[i].size()) + ":" +
             packed.data_as<std::string>()[i];
    return all;
  }
  return {packed.data_as<char>(), static_cast<std::size_t>(packed.size()) * byte_size(t.dtype())};
}

}  // namespace

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
      c.key += "-;";
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
    c.key += to_text(c.types.back()) + (t.contiguous() ? ";" : "~;");
  }
  for (const std::size_t k : value_inputs) {
    if (k >= inputs.size() || !inputs[k].is_tensor()) continue;
    c.values[k] = inputs[k].tensor().copy();
    c.key += "#" + std::to_string(k) + "=" + bytes_of(c.values[k]);
  }
  for (const ExtentList& list : lists) {
    const ir::Ints values = ir::integers_of(inputs[list.input].tensor());
    ir::Extents& elements = c.elements[list.input];
    for (std::size_t i = 0; i < values.size(); ++i)
      elements.push_back(
          values[i] < 0
              ? ir::Extent()
              : symbols.of(values[i], i < list.declared.size() ? &list.declared[i] : nullptr));
    c.key += "@" + std::to_string(list.input) + "=" +
             to_text(ir::Type::tensor(DType::i64, elements));
  }
  return c;
}

ir::Knowledge knowledge_for(const ir::Graph& g, const ShapeClass& c) {
  ir::Knowledge k = ir::knowledge_of(g);
  k.name_unknowns = true;
  for (std::size_t i = 0; i < g.root().params.size(); ++i) {
    const ir::ValueId v = g.root().params[i];
    k.types[ir::index(v)] = c.types[i];
    if (c.values[i].defined()) k.values[static_cast<std::int32_t>(v)] = c.values[i];
  }
  ir::infer_region(g, ir::RegionId::root, k);
  return k;
}

ShapeClass class_of(std::span<const ir::Type> declared, std::span<const ExtentList> lists) {
  ShapeClass c;
  c.values.resize(declared.size());
  c.elements.resize(declared.size());
  c.contiguous.assign(declared.size(), true);
  std::map<ir::Symbol, std::size_t> named;
  std::size_t next = 0;
  const auto as_symbols = [&](ir::Extents extents) {
    for (ir::Extent& e : extents) {
      if (e.known()) continue;
      const std::size_t number = e.symbolic() ? named.try_emplace(e.symbol, next).first->second
                                              : next;
      if (number == next) ++next;
      e = ir::Extent::own(fmt::format("s{}", number));
    }
    return extents;
  };
  for (const ir::Type& t : declared) {
    ir::Extents extents = as_symbols(t.extents());
    c.types.push_back(ir::Type::tensor(t.dtype(), std::move(extents)));
    c.key += to_text(c.types.back()) + ";";
  }
  for (const ExtentList& list : lists) c.elements[list.input] = as_symbols(list.declared);
  return c;
}

}  // namespace rondel::passes
