#include "scalar/same_code.h"

#include <algorithm>

namespace rondel::scalar {
namespace {

bool same(const Buffer& a, const Buffer& b) {
  return a.dtype == b.dtype && a.access == b.access && a.extents == b.extents &&
         a.contiguous == b.contiguous && a.may_alias == b.may_alias;
}

bool same(const Call& a, const Call& b) {
  return a.function == b.function && a.attributes == b.attributes && a.views == b.views;
}

}  // namespace

bool same_code(const Program& a, const Program& b) {
  const auto same_parts = [](const auto& x, const auto& y) { return same(x, y); };
  return a.param_count == b.param_count && a.code == b.code && a.regs == b.regs &&
         a.reg_types == b.reg_types && a.contracts == b.contracts &&
         a.sites.size() == b.sites.size() && std::ranges::equal(a.buffers, b.buffers, same_parts) &&
         std::ranges::equal(a.calls, b.calls, same_parts);
}

std::size_t code_hash(const Program& p) {
  std::size_t hash = p.buffers.size();
  const auto add = [&](std::int64_t part) {
    hash = (hash ^ static_cast<std::size_t>(part)) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 29;
  };
  for (const Buffer& b : p.buffers) {
    add(static_cast<std::int64_t>(b.dtype));
    for (const std::int64_t extent : b.extents) add(extent);
  }
  for (const Inst& i : p.code) {
    add(static_cast<std::int64_t>(i.op));
    add(static_cast<std::int64_t>(i.type));
    add(i.id);
    add(i.imm);
  }
  for (const Reg r : p.regs) add(r);
  return hash;
}

}  // namespace rondel::scalar
