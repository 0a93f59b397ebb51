#pragma once
#include "ir/graph.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

/// Integers in loops as linear functions of a variable. Arithmetic on integers wraps around, so a
/// form is exact modulo 2^bits; it says nothing of the value as an unbounded integer.
namespace rondel::passes {

/// The dtypes for which there are forms: integers of 8 bits or more.
bool has_forms(DType);
int bits(DType);
/// Whether the value certainly is a tensor of one element.
bool is_one_element(const ir::Graph&, ir::ValueId);
/// The number that the last `bits(t)` bits of a word are in dtype `t`.
std::int64_t as_number(std::uint64_t word, DType t);
/// The value of a constant of one integer.
std::optional<std::int64_t> integer_constant(const ir::Graph&, ir::ValueId);
/// What the value has in another shape: the input of reshapes of one element, if there are any.
ir::ValueId reshaped_from(const ir::Graph&, ir::ValueId);

/// A sum: `factor` times the variable, plus `constant`, plus each other value times its factor.
struct LinearForm {
  struct Term {
    ir::ValueId value;
    std::uint64_t factor;
  };
  std::uint64_t factor = 0, constant = 0;
  std::vector<Term> terms;

  /// Whether two sums are certainly equal modulo 2^bits.
  static bool are_equal(const ir::Graph&, const LinearForm&, const LinearForm&, int bits);
};

using IsInvariant = std::function<bool(ir::ValueId)>;
/// The value, one integer of `modulus` bits or more, as a form modulo 2^modulus. Its terms are
/// invariant. Nothing if it depends on the variable in another way.
std::optional<LinearForm> linear_form(const ir::Graph&, ir::ValueId, ir::ValueId variable,
                                      int modulus, const IsInvariant&);

}  // namespace rondel::passes
