#pragma once
#include "ir/attributes.h"

#include <rondel/tensor.h>

#include <string>
#include <string_view>
#include <vector>

/// Tests ops by lines of text, each with the expected result:
///
///     add a=[1, 2] b=[[10], [20]] -> [[11, 12], [21, 22]]
///     cum_sum x=i64[1, 2, 3] axis=i64 0; exclusive=1 -> i64[0, 1, 3]
///     mat_mul a=f32(8,64) b=f32(32,8) -> error: inner extents 64 and 32 differ
///
/// A tensor is written as nested lists or a number, with an optional dtype before it (default:
/// f32). `f32(8,64)` is a tensor of zeros with that shape; `none` is an optional input that is not
/// given. Attributes follow a semicolon: integers, reals, 'text', (1, 2) for a list of integers, or
/// a dtype. Several results are separated by `&`.
///
/// Each line runs with exact types, with unknown extents and with unknown ranks, interpreted and
/// compiled. All runs must give the same bits, and floats must equal the expected ones within
/// `tolerance`.
namespace rondel::test {

struct OpCase {
  std::string op;
  std::vector<Value> inputs;
  ir::Attributes attributes;
};

/// Checks the lines of `text`; blank lines and lines that begin with # are skipped.
void check_ops(std::string_view text, double tolerance = 4e-6);

/// The results of one op, run by the interpreter.
std::vector<Value> run_op(const OpCase&, std::size_t outputs = 1);

/// Reads one tensor in the notation above.
Tensor tensor(std::string_view text);
std::string to_text(const Tensor&);

}  // namespace rondel::test
