#include "session/ahead/stored_model.h"

#include "base/error.h"
#include "ir/text.h"

#include <cstring>

namespace rondel::ahead {
namespace {

/// Smaller tensors stay in the text.
constexpr std::size_t least_bytes = 256;
constexpr std::uint64_t alignment = 64;

std::size_t bytes_of(const Tensor& t) {
  return static_cast<std::size_t>(t.size()) * byte_size(t.dtype());
}

/// All nodes, in the order of the text.
std::vector<ir::NodeId> nodes_in_order(const ir::Graph& g) {
  std::vector<ir::NodeId> nodes;
  for (const ir::RegionId r : g.regions_below(ir::RegionId::root))
    for (const ir::NodeId n : g.region(r).nodes) nodes.push_back(n);
  return nodes;
}

class Writer {
 public:
  void add(std::uint64_t x) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&x);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof x);
  }
  void add(std::int64_t x) { add(static_cast<std::uint64_t>(x)); }
  void add(const std::string& text) {
    add(std::uint64_t{text.size()});
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    bytes_.insert(bytes_.end(), bytes, bytes + text.size());
  }
  template <class T> void add_all(const T& items, const auto& add_one) {
    add(std::uint64_t{items.size()});
    for (const auto& item : items) add_one(item);
  }
  std::vector<std::byte> bytes() && { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}
  std::uint64_t unsigned_integer() {
    std::uint64_t x = 0;
    std::memcpy(&x, take(sizeof x).data(), sizeof x);
    return x;
  }
  std::int64_t integer() { return static_cast<std::int64_t>(unsigned_integer()); }
  std::string text() {
    const auto bytes = take(unsigned_integer());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  template <class T> std::vector<T> all(const auto& read_one) {
    std::vector<T> items;
    for (std::uint64_t n = unsigned_integer(); n > 0; --n) items.push_back(read_one());
    return items;
  }

 private:
  std::span<const std::byte> take(std::uint64_t n) {
    invariant(n <= rest_.size(), "the description of a compiled model ends early");
    const auto taken = rest_.first(n);
    rest_ = rest_.subspan(n);
    return taken;
  }
  std::span<const std::byte> rest_;
};

}  // namespace

std::vector<std::byte> to_bytes(const StoredModel& m) {
  Writer w;
  const auto text = [&](const std::string& t) { w.add(t); };
  for (const std::string* t : {&m.version, &m.name, &m.cpu}) w.add(*t);
  w.add_all(m.instruction_sets, text);
  const ModelInfo& i = m.info;
  for (const std::string* t :
       {&i.graph_name, &i.producer_name, &i.domain, &i.description, &i.graph_description})
    w.add(*t);
  w.add(i.version);
  w.add_all(i.custom_metadata, [&](const auto& pair) {
    w.add(pair.first);
    w.add(pair.second);
  });
  for (const std::int64_t x :
       {m.optimization_level, m.threads, m.strict, m.denormals_as_zero, m.max_trips})
    w.add(x);
  w.add(m.max_memory_bytes);
  w.add_all(m.graphs, [&](const StoredGraph& g) {
    w.add(g.text);
    w.add_all(g.places, [&](const StoredGraph::Place& p) {
      w.add(p.node);
      w.add(p.attribute);
      w.add(p.tensor);
    });
  });
  w.add_all(m.tensors, [&](const StoredTensor& t) {
    w.add(static_cast<std::int64_t>(t.dtype));
    w.add_all(t.shape, [&](std::int64_t extent) { w.add(extent); });
    w.add(t.offset);
  });
  return std::move(w).bytes();
}

StoredModel read_stored_model(std::span<const std::byte> bytes) {
  Reader r(bytes);
  StoredModel m;
  const auto text = [&] { return r.text(); };
  for (std::string* t : {&m.version, &m.name, &m.cpu}) *t = r.text();
  m.instruction_sets = r.all<std::string>(text);
  ModelInfo& i = m.info;
  for (std::string* t :
       {&i.graph_name, &i.producer_name, &i.domain, &i.description, &i.graph_description})
    *t = r.text();
  i.version = r.integer();
  for (std::uint64_t n = r.unsigned_integer(); n > 0; --n) {
    std::string key = r.text();
    i.custom_metadata[std::move(key)] = r.text();
  }
  for (std::int64_t* x :
       {&m.optimization_level, &m.threads, &m.strict, &m.denormals_as_zero, &m.max_trips})
    *x = r.integer();
  m.max_memory_bytes = r.unsigned_integer();
  m.graphs = r.all<StoredGraph>([&] {
    StoredGraph g{r.text(), {}};
    g.places = r.all<StoredGraph::Place>([&] {
      StoredGraph::Place p{r.integer(), r.text(), 0};
      p.tensor = r.integer();
      return p;
    });
    return g;
  });
  m.tensors = r.all<StoredTensor>([&] {
    const auto dtype = static_cast<DType>(r.integer());
    const auto extents = r.all<std::int64_t>([&] { return r.integer(); });
    return StoredTensor{dtype, Shape(extents.begin(), extents.end()), r.unsigned_integer()};
  });
  return m;
}

StoredGraph TensorStore::store(ir::Graph g) {
  StoredGraph stored;
  std::int64_t number = 0;
  for (const ir::NodeId n : nodes_in_order(g)) {
    ir::Attributes& attributes = g.node(n).attributes;
    std::vector<std::string> large;
    for (const auto& [name, value] : attributes)
      if (const auto* t = std::get_if<Tensor>(&value);
          t != nullptr && t->dtype() != DType::string && bytes_of(*t) >= least_bytes)
        large.push_back(name);
    for (const std::string& name : large) {
      const Tensor t = std::get<Tensor>(*attributes.find(name));
      stored.places.push_back({number, name, number_of(t)});
      attributes.set(name, Tensor(t.dtype(), {0}));
    }
    ++number;
  }
  stored.text = ir::to_text(g);
  return stored;
}

std::int64_t TensorStore::number_of(const Tensor& t) {
  const auto [it, fresh] = numbers_.try_emplace({t.data(), t.shape()},
                                                static_cast<std::int64_t>(tensors_.size()));
  if (!fresh) return it->second;
  static constexpr std::byte zeros[alignment] = {};
  const std::uint64_t gap = (alignment - bytes_ % alignment) % alignment;
  write_(std::span(zeros).first(gap));
  const Tensor packed = t.packed();
  tensors_.push_back({t.dtype(), t.shape(), bytes_ + gap});
  write_({packed.data_as<const std::byte>(), bytes_of(packed)});
  bytes_ += gap + bytes_of(packed);
  held_.push_back(t);
  return it->second;
}

ir::Graph restore(const StoredGraph& stored, std::span<const StoredTensor> tensors,
                  const std::byte* weights) {
  ir::Graph g = ir::parse(stored.text);
  const std::vector<ir::NodeId> nodes = nodes_in_order(g);
  // One owner of all: no tensor is ever taken for a block that may be overwritten.
  static const auto mapped = std::make_shared<int>(0);
  for (const StoredGraph::Place& p : stored.places) {
    const StoredTensor& t = tensors[static_cast<std::size_t>(p.tensor)];
    auto* data = const_cast<std::byte*>(weights + t.offset);  // never written
    g.node(nodes[static_cast<std::size_t>(p.node)])
        .attributes.set(p.attribute,
                        Tensor(t.dtype, t.shape, row_major_strides(t.shape), data, mapped));
  }
  return g;
}

}  // namespace rondel::ahead
