#pragma once
#include "scalar/program.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

/// Parallel loops and products that several threads may share: each is a function of its own that
/// runs some of the trips (base/parts.h).
namespace rondel::codegen {

struct Part {
  bool always = false;    ///< divided whatever its work is
  bool in_place = false;  ///< too small for it, usually: the trips are also emitted in place
  std::vector<std::int32_t> private_locals = {};  ///< local arrays of which each part has its own
};

/// The loops and products that are divided, by the index of their instruction.
using PartPlan = std::map<std::size_t, Part>;

struct PartOptions {
  bool in_place = false;  ///< `Part::in_place` may be chosen
  bool all = false;       ///< also what is known to be too small
  /// Null, or gets the parallel loops and products that are not divided, and why.
  std::map<std::size_t, const char*>* why_not = nullptr;
};

/// Chooses the outermost parallel loops whose trips share no memory that one of them writes, and
/// all products, except those that are known to be too small to be worth it.
PartPlan plan_parts(const scalar::Program&, PartOptions);

/// The work of one primitive, of those with a fixed amount.
double work_of(const scalar::Inst&);
/// Multiply-adds that are one unit of work.
inline constexpr double products_per_unit = 2;
/// The assumed number of trips of an inner loop whose bounds are not known before the outer one.
inline constexpr double unknown_trips = 16;

}  // namespace rondel::codegen
