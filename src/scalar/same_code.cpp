#include "scalar/same_code.h"

#include <algorithm>
#include <concepts>
#include <type_traits>
#include <utility>

namespace rondel::scalar {
namespace {

bool same(const Buffer& a, const Buffer& b) {
  return a.dtype == b.dtype && a.access == b.access && a.extents == b.extents &&
         a.contiguous == b.contiguous && a.dense_rows == b.dense_rows &&
         a.may_alias == b.may_alias && a.lifetime == b.lifetime;
}

bool same(const Call& a, const Call& b) {
  const bool same_attributes = a.attributes == b.attributes ||
                               (!a.content.empty() && a.content == b.content);
  return a.name == b.name && a.function == b.function && same_attributes && a.views == b.views &&
         a.first_site == b.first_site && a.first_written == b.first_written;
}

/// Collects the parts of a program. Structured bindings name all members, so that a new one is not
/// forgotten.
class ContentWriter {
 public:
  template <std::integral T> void add(T part) {
    content_.push_back(static_cast<std::uint64_t>(part));
  }
  template <class T>
  requires std::is_enum_v<T>
  void add(T part) { content_.push_back(static_cast<std::uint64_t>(part)); }
  void add(const std::string& text) {
    add(text.size());
    for (const char c : text) add(static_cast<unsigned char>(c));
  }
  template <class T> void add(const std::vector<T>& parts) {
    add(parts.size());
    for (const T& part : parts) add(part);
  }
  void add(const Buffer& b) {
    const auto& [name, dtype, access, extents, contiguous, may_alias, lifetime, dense_rows] = b;
    add_all(dtype, access, extents, contiguous, may_alias, lifetime.has_value(), dense_rows);
    if (lifetime) add_all(lifetime->first, lifetime->last);
  }
  void add(const Inst& i) {
    const auto& [op, type, from, flags, id, jump, imm, begin, operands, result_begin, results] = i;
    add_all(op, type, from, flags, id, jump, imm, begin, operands, result_begin, results);
  }
  void add(const Call::Operand& o) {
    const auto& [buffer, leading] = o;
    add_all(buffer, leading);
  }
  /// Code does not depend on the address of the kernel and on what its attributes are.
  void add(const Call& c) {
    const auto& [name, function, attributes, views, first_site, first_written, content] = c;
    add_all(name, attributes != nullptr, views, first_site, first_written);
  }
  void add(const Contract& contract) {
    const auto& [a, b, c, a_leading, b_leading, c_leading, a_transposed, b_transposed, a_vector,
                 b_vector, fused, sized] = contract;
    add_all(a, b, c, a_leading, b_leading, c_leading, a_transposed, b_transposed);
    add_all(a_vector, b_vector, fused, sized);
  }
  std::vector<std::uint64_t> content() && { return std::move(content_); }

 private:
  template <class... Parts> void add_all(const Parts&... parts) { (add(parts), ...); }

  std::vector<std::uint64_t> content_;
};

}  // namespace

bool same_code(const Program& a, const Program& b) {
  const auto same_parts = [](const auto& x, const auto& y) { return same(x, y); };
  return a.param_count == b.param_count && a.code == b.code && a.regs == b.regs &&
         a.reg_types == b.reg_types && a.contracts == b.contracts &&
         a.sites.size() == b.sites.size() && std::ranges::equal(a.buffers, b.buffers, same_parts) &&
         std::ranges::equal(a.calls, b.calls, same_parts);
}

std::vector<std::uint64_t> code_content(const Program& p) {
  const auto& [name, buffers, params, code, regs, reg_types, sites, calls, contracts] = p;
  ContentWriter writer;
  writer.add(params);
  writer.add(buffers);
  writer.add(code);
  writer.add(regs);
  writer.add(reg_types);
  writer.add(sites.size());
  writer.add(calls);
  writer.add(contracts);
  return std::move(writer).content();
}

CodeKey code_key(const Program& p) {
  CodeKey key{0x243F6A8885A308D3U, 0x13198A2E03707344U};
  for (const std::uint64_t part : code_content(p)) {
    key.low = (key.low ^ part) * 0x9E3779B97F4A7C15U;
    key.low ^= key.low >> 29;
    key.high = (key.high ^ part) * 0xD6E8FEB86659FD93U;
    key.high ^= key.high >> 32;
  }
  return key;
}

}  // namespace rondel::scalar
