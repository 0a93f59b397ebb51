#include "codegen/joined_indices.h"

#include <algorithm>

namespace rondel::codegen {
namespace {

using scalar::Inst;
using scalar::Op;
using scalar::Program;
using scalar::Reg;

/// Joins indices of one buffer.
class Joining {
 public:
  Joining(const Program& p, const Definitions& definitions, std::int32_t id)
      : p_(p), definitions_(definitions), id_(id),
        buffer_(p.buffers[static_cast<std::size_t>(id)]) {}

  /// The number n for which `high` is n / extent and `low` is n % extent, where the extent is that
  /// of the axes of `low` together; nullopt if there is none.
  std::optional<Reg> joined(const JoinedIndex& high, const JoinedIndex& low) const {
    const Inst &quotient = defined(high.index), &remainder = defined(low.index);
    if (quotient.op != Op::div || remainder.op != Op::rem) return std::nullopt;
    const auto a = p_.operands(quotient), b = p_.operands(remainder);
    if (a[0] != b[0] || !is_extent(a[1], low) || !is_extent(b[1], low)) return std::nullopt;
    return a[0];
  }

 private:
  const Inst& defined(Reg r) const { return *definitions_[static_cast<std::size_t>(r)]; }

  /// Whether the register is the extent of the index's axes together.
  bool is_extent(Reg r, const JoinedIndex& of) const {
    const auto [index, first, last] = of;
    const Inst& made = defined(r);
    if (first == last && made.op == Op::extent && made.id == id_ &&
        made.imm == static_cast<std::int64_t>(first))
      return true;
    std::int64_t together = 1;
    for (std::size_t axis = first; axis <= last; ++axis) {
      if (buffer_.extents[axis] < 0) return false;
      together *= buffer_.extents[axis];
    }
    return known_number(p_, definitions_, r) == together;
  }

  const Program& p_;
  const Definitions& definitions_;
  const std::int32_t id_;
  const scalar::Buffer& buffer_;
};

/// By instruction: how many blocks begin or end before it.
std::vector<std::size_t> block_numbers(const Program& p) {
  std::vector<std::size_t> numbers;
  std::size_t number = 0;
  for (const Inst& i : p.code) {
    numbers.push_back(number);
    if (i.jump >= 0) ++number;
  }
  return numbers;
}

}  // namespace

Definitions definitions_of(const Program& p) {
  Definitions definitions(p.reg_types.size());
  for (const Inst& inst : p.code)
    for (const Reg r : p.results(inst)) definitions[static_cast<std::size_t>(r)] = &inst;
  return definitions;
}

std::optional<std::int64_t> known_number(const Program& p, const Definitions& definitions, Reg r) {
  const Inst& made = *definitions[static_cast<std::size_t>(r)];
  if (made.op == Op::constant) return made.imm;
  if (made.op != Op::extent) return std::nullopt;
  const std::int64_t extent =
      p.buffers[static_cast<std::size_t>(made.id)].extents[static_cast<std::size_t>(made.imm)];
  return extent < 0 ? std::nullopt : std::optional(extent);
}

std::vector<JoinedIndex> joined_indices(const Program& p, const Definitions& definitions,
                                        std::int32_t id, std::span<const Reg> indices,
                                        const std::function<bool(Reg)>& is_there) {
  const Joining joining(p, definitions, id);
  std::vector<JoinedIndex> all;
  for (std::size_t axis = 0; axis < indices.size(); ++axis)
    all.push_back({indices[axis], axis, axis});
  if (!p.buffers[static_cast<std::size_t>(id)].contiguous) return all;
  for (std::size_t k = 1; k < all.size();) {
    const std::optional<Reg> both = joining.joined(all[k - 1], all[k]);
    if (!both || !is_there(*both)) {
      ++k;
      continue;
    }
    all[k - 1] = {*both, all[k - 1].first, all[k].last};
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(k));
    k = 1;  // what is joined may be a part of another number
  }
  return all;
}

std::vector<bool> needed_registers(const Program& p, const Definitions& definitions) {
  const std::vector<std::size_t> blocks = block_numbers(p);
  std::vector<bool> needed(p.reg_types.size());
  const auto need = [&](Reg r) { needed[static_cast<std::size_t>(r)] = true; };
  for (std::size_t at = p.code.size(); at-- > 0;) {
    const Inst& i = p.code[at];
    const auto operands = p.operands(i);
    if ((i.op == Op::div || i.op == Op::rem) && !needed[static_cast<std::size_t>(p.results(i)[0])])
      continue;
    if (i.op != Op::load && i.op != Op::store) {
      std::ranges::for_each(operands, need);
      continue;
    }
    const std::size_t indices = operands.size() - (i.op == Op::store ? 1 : 0);
    if (i.op == Op::store) need(operands.back());
    // A number is at hand where its quotient and its remainder would be.
    const auto is_split_here = [&](Reg n) {
      return std::ranges::all_of(operands.first(indices), [&](Reg r) {
        const Inst& made = *definitions[static_cast<std::size_t>(r)];
        return (made.op != Op::div && made.op != Op::rem) || p.operands(made)[0] != n ||
               blocks[static_cast<std::size_t>(&made - p.code.data())] == blocks[at];
      });
    };
    for (const JoinedIndex& j :
         joined_indices(p, definitions, i.id, operands.first(indices), is_split_here))
      need(j.index);
  }
  return needed;
}

}  // namespace rondel::codegen
