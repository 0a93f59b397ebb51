#include "session/deepx/graph_key.h"

#include <bit>
#include <cstring>

namespace rondel::session {
namespace {

class KeyWriter {
 public:
  explicit KeyWriter(const ir::Graph& g) : g_(g), number_(g.value_count(), -1) {
    key.reserve(32 * g.node_count());
  }

  void region(ir::RegionId r) {
    const ir::Region& region = g_.region(r);
    add(std::ssize(region.params));
    for (const ir::ValueId v : region.params) {
      number(v);
      type(g_.value(v).type);
    }
    for (const ir::NodeId n : region.nodes) node(n, r != ir::RegionId::root);
    if (r != ir::RegionId::root) values(region.results);
  }
  void values(std::span<const ir::ValueId> list) {
    add(std::ssize(list));
    for (const ir::ValueId v : list) add(v == ir::ValueId::none ? -1 : number_[ir::index(v)]);
  }

  CacheKey key;

 private:
  void add(std::int64_t v) { key.push_back(v); }
  void number(ir::ValueId v) { number_[ir::index(v)] = next_++; }

  void node(ir::NodeId id, bool with_source) {
    const ir::Node& n = g_.node(id);
    add(std::bit_cast<std::int64_t>(n.op));
    values(std::vector<ir::ValueId>(n.inputs));
    attributes(n.attributes);
    if (with_source) add_text(key, n.source);
    if (n.is_loop()) attributes(n.loop().attributes());
    for (const ir::RegionId r : n.regions) region(r);
    add(std::ssize(n.outputs));
    for (const ir::ValueId v : n.outputs) {
      add(v == ir::ValueId::none ? 0 : 1);
      if (v != ir::ValueId::none) number(v);
    }
  }

  void attributes(const ir::Attributes& all) {
    for (const auto& [name, value] : all) {
      add_text(key, name);
      add(static_cast<std::int64_t>(value.index()));
      std::visit([this](const auto& v) { attribute(v); }, value);
    }
    add(-1);
  }
  void attribute(std::int64_t v) { add(v); }
  void attribute(double v) { add(std::bit_cast<std::int64_t>(v)); }
  void attribute(const std::string& v) { add_text(key, v); }
  template <class T> void attribute(const std::vector<T>& list) {
    add(std::ssize(list));
    for (const T& v : list) attribute(v);
  }
  void attribute(const ir::Type& t) { type(t); }
  void attribute(const Tensor& t) {
    type(ir::Type::tensor(t.dtype(), t.shape()));
    const Tensor packed = t.packed();
    if (t.dtype() == DType::string) {
      for (std::int64_t k = 0; k < t.size(); ++k) add_text(key, packed.data_as<std::string>()[k]);
      return;
    }
    add_text(key, {packed.data_as<const char>(),
                   static_cast<std::size_t>(t.size()) * byte_size(t.dtype())});
  }
  void type(const ir::Type& t) {
    if (!t.is_tensor() || !t.is_static()) {
      add(-2);
      add_text(key, to_text(t));
      return;
    }
    add(static_cast<std::int64_t>(t.dtype()));
    add(t.rank());
    for (const ir::Extent& e : t.extents()) add(e.value);
  }

  const ir::Graph& g_;
  std::vector<std::int64_t> number_;
  std::int64_t next_ = 0;
};

}  // namespace

CacheKey graph_key(const ir::Graph& g, std::span<const ir::ValueId> results) {
  KeyWriter writer(g);
  writer.region(ir::RegionId::root);
  writer.values(results);
  return std::move(writer.key);
}

}  // namespace rondel::session
