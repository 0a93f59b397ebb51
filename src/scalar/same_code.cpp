#include "scalar/same_code.h"

#include <algorithm>
#include <concepts>
#include <type_traits>

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

/// Computes two 64-bit hashes of the same data with different constants.
class KeyWriter {
 public:
  template <std::integral T> void add(T part) { mix(static_cast<std::uint64_t>(part)); }
  template <class T>
  requires std::is_enum_v<T>
  void add(T part) { mix(static_cast<std::uint64_t>(part)); }
  void add(const std::string& text) {
    add(text.size());
    for (const char c : text) add(static_cast<unsigned char>(c));
  }
  template <class T> void add(const std::vector<T>& parts) {
    add(parts.size());
    for (const T& part : parts) add(part);
  }
  void add(const Buffer& b) {
    add(b.dtype), add(b.access), add(b.extents), add(b.contiguous), add(b.dense_rows);
    add(b.may_alias);
  }
  void add(const Inst& i) {
    add(i.op), add(i.type), add(i.from), add(i.flags), add(i.id), add(i.jump), add(i.imm);
    add(i.operand_begin), add(i.operand_count), add(i.result_begin), add(i.result_count);
  }
  void add(const Call::Operand& o) { add(o.buffer), add(o.leading); }
  void add(const Call& c) { add(c.name), add(c.views), add(c.first_site), add(c.first_written); }
  void add(const Contract& c) {
    add(c.a), add(c.b), add(c.c), add(c.a_leading), add(c.b_leading), add(c.c_leading);
    add(c.a_transposed), add(c.b_transposed), add(c.a_vector), add(c.b_vector), add(c.fused);
    add(c.sized);
  }
  CodeKey key() const { return {high_, low_}; }

 private:
  void mix(std::uint64_t part) {
    low_ = (low_ ^ part) * 0x9E3779B97F4A7C15U;
    low_ ^= low_ >> 29;
    high_ = (high_ ^ part) * 0xD6E8FEB86659FD93U;
    high_ ^= high_ >> 32;
  }
  std::uint64_t high_ = 0x243F6A8885A308D3U, low_ = 0x13198A2E03707344U;
};

}  // namespace

bool same_code(const Program& a, const Program& b) {
  const auto same_parts = [](const auto& x, const auto& y) { return same(x, y); };
  return a.param_count == b.param_count && a.code == b.code && a.regs == b.regs &&
         a.reg_types == b.reg_types && a.contracts == b.contracts &&
         a.sites.size() == b.sites.size() && std::ranges::equal(a.buffers, b.buffers, same_parts) &&
         std::ranges::equal(a.calls, b.calls, same_parts);
}

CodeKey code_key(const Program& p) {
  KeyWriter key;
  key.add(p.param_count);
  key.add(p.buffers);
  key.add(p.code);
  key.add(p.regs);
  key.add(p.reg_types);
  key.add(p.sites.size());
  key.add(p.calls);
  key.add(p.contracts);
  return key.key();
}

}  // namespace rondel::scalar
