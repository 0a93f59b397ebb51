#include "base/error.h"
#include "base/text.h"
#include "ir/text.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <unordered_map>

namespace rondel::ir {
namespace {

std::string quoted(std::string_view s) {
  std::string out = "\"";
  for (const char c : s) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') (out += '\\') += c;
    else if (byte < 0x20 || byte == 0x7f) out += fmt::format("\\x{:02x}", byte);
    else out += c;
  }
  return out + "\"";
}

/// Shortest text that reads back to the same double; NaN and infinities by name.
std::string number(double v) {
  const std::string s = fmt::format("{}", v);
  return s.find_first_of(".en") == std::string::npos ? s + ".0" : s;
}

template <class T> std::string list(const std::vector<T>& items, auto text) {
  std::string out = "[";
  for (std::size_t i = 0; i < items.size(); ++i) out += (i > 0 ? ", " : "") + text(items[i]);
  return out + "]";
}

/// An element: decimal where C++ has the type and the value survives it, else 0x and its bits.
std::string element(const Tensor& t, std::int64_t i) {
  const auto get = [&]<class T>(T) { return t.data_as<T>()[i]; };
  switch (t.dtype()) {
    case DType::string: return quoted(t.data_as<std::string>()[i]);
    case DType::boolean: return get(std::uint8_t{}) != 0 ? "true" : "false";
    case DType::i64: return std::to_string(get(std::int64_t{}));
    case DType::i32: return std::to_string(get(std::int32_t{}));
    case DType::i16: return std::to_string(get(std::int16_t{}));
    case DType::i8:
    case DType::i4:
    case DType::i2: return std::to_string(get(std::int8_t{}));
    case DType::u64: return std::to_string(get(std::uint64_t{}));
    case DType::u32: return std::to_string(get(std::uint32_t{}));
    case DType::u16: return std::to_string(get(std::uint16_t{}));
    case DType::u8:
    case DType::u4:
    case DType::u2: return std::to_string(get(std::uint8_t{}));
    case DType::f32:
      if (const float v = get(float{}); v == v) return fmt::format("{}", v);
      break;
    case DType::f64:
      if (const double v = get(double{}); v == v) return fmt::format("{}", v);
      break;
    default: break;
  }
  std::string bits = "0x";
  const auto* bytes = t.data_as<unsigned char>() +
                      static_cast<std::size_t>(i) * byte_size(t.dtype());
  for (std::size_t b = byte_size(t.dtype()); b-- > 0;) bits += fmt::format("{:02x}", bytes[b]);
  return bits;
}

std::string tensor_text(const Tensor& view, std::int64_t most) {
  const Tensor t = view.packed();
  std::string out = to_text(Type::tensor(t.dtype(), t.shape())) + " {";
  if (most >= 0 && t.size() > most) return out + "...}";
  for (std::int64_t i = 0; i < t.size(); ++i) out += (i > 0 ? ", " : "") + element(t, i);
  return out + "}";
}

std::string attribute_text(const Attribute& a, std::int64_t most) {
  struct Visitor {
    std::int64_t most;
    std::string operator()(std::int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return number(v); }
    std::string operator()(const std::string& v) const { return quoted(v); }
    std::string operator()(const Ints& v) const {
      return "ints" + list(v, [](std::int64_t x) { return std::to_string(x); });
    }
    std::string operator()(const Floats& v) const { return "floats" + list(v, number); }
    std::string operator()(const Strings& v) const {
      return "strings" + list(v, [](const std::string& x) { return quoted(x); });
    }
    std::string operator()(const Tensor& v) const { return tensor_text(v, most); }
    std::string operator()(const Type& v) const { return "type " + to_text(v); }
  };
  return std::visit(Visitor{most}, a);
}

class Printer {
 public:
  Printer(const Graph& g, const TextOptions& o) : g_(g), options_(o) {}

  std::string run() {
    out_ = "graph " + quoted(g_.name) + " (" + params(g_.root()) + ") {\n";
    for (const auto& [v, t] : g_.defaults)
      line("default " + name(v) + " = " + tensor_text(t, options_.most_elements));
    if (!g_.input_names.empty()) line("inputs " + list(g_.input_names, quoted));
    if (!g_.output_names.empty()) line("outputs " + list(g_.output_names, quoted));
    if (!g_.declared_outputs.empty())
      line("declared " + list(g_.declared_outputs, [](const Type& t) { return to_text(t); }));
    region(g_.root());
    return out_ + "}\n";
  }

 private:
  /// Letters, digits and underscores of the value's own name, made unique.
  std::string name(ValueId v) {
    if (v == ValueId::none) return "_";
    const auto [it, fresh] = names_.try_emplace(static_cast<std::int32_t>(v));
    if (!fresh) return it->second;
    const std::string& own = g_.value(v).name;
    const bool plain = !own.empty() && std::ranges::all_of(own, [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '/' ||
             c == ':' || c == '-';
    });
    const std::string base = own.empty() ? "" : plain ? own : quoted(own);
    std::string unique = base.empty() ? fmt::format("#{}", unnamed_++) : base;
    for (int n = 1; !used_.insert(unique).second; ++n) unique = fmt::format("{}#{}", base, n);
    return it->second = "%" + unique;
  }

  std::string typed(ValueId v) {
    return v == ValueId::none ? "_" : name(v) + ": " + to_text(g_.value(v).type);
  }
  std::string params(const Region& r) {
    return join(r.params, [this](ValueId v) { return typed(v); });
  }
  static std::string join(const std::vector<ValueId>& values, auto text) {
    std::string out;
    for (std::size_t i = 0; i < values.size(); ++i) out += (i > 0 ? ", " : "") + text(values[i]);
    return out;
  }

  void line(const std::string& text) { out_ += std::string(depth_ * 2, ' ') + text + "\n"; }

  void region(const Region& r) {
    for (const NodeId n : r.nodes) node(g_.node(n));
    line("yield " + join(r.results, [this](ValueId v) { return name(v); }));
  }

  void node(const Node& n) {
    std::string text = join(n.outputs, [this](ValueId v) { return typed(v); });
    text += (n.outputs.empty() ? "" : " = ") + std::string(n.op->name) + "(" +
            join(n.inputs, [this](ValueId v) { return name(v); }) + ")";
    for (const auto& [key, value] : n.attributes)
      text += " " + key + "=" + attribute_text(value, options_.most_elements);
    const std::string from = options_.sources && !n.source.empty() ? "  // from " + quoted(n.source)
                                                                   : "";
    if (n.regions.empty()) return line(text + from);
    line(text + " {" + from);
    ++depth_;
    for (const RegionId r : n.regions) {
      line("region(" + params(g_.region(r)) + ") {");
      ++depth_;
      region(g_.region(r));
      --depth_;
      line("}");
    }
    --depth_;
    line("}");
  }

  const Graph& g_;
  const TextOptions& options_;
  std::string out_;
  std::size_t depth_ = 1;
  std::unordered_map<std::int32_t, std::string> names_;
  std::set<std::string> used_;
  int unnamed_ = 0;
};

}  // namespace

std::string to_text(const Attribute& a) { return attribute_text(a, 16); }

std::string to_text(const Graph& g, const TextOptions& options) {
  return Printer(g, options).run();
}

}  // namespace rondel::ir
