#pragma once
#include <rondel/tensor.h>

#include "scalar/program.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

/// Random scalar programs: nested loops, ifs, carried values, conditional loops, checks,
/// reductions, products, loads and stores through all kinds of strides, all types. Two executors
/// must agree on them bit for bit, except for the bits of NaN, which the programs never inspect.
namespace rondel::scalar {

struct RandomProgram {
  std::uint64_t seed = 0;
  std::shared_ptr<const Program> program;
  std::vector<Tensor> tensors;  ///< one per parameter buffer; outputs are prefilled
  std::vector<std::int64_t> params;
  int shared = -1;  ///< the output that shares the block of the tensor before it, if any
};

/// The same program for the same seed.
RandomProgram random_program(std::uint64_t seed);

/// The results of a run.
struct Outcome {
  Status status = done;
  std::array<std::int64_t, most_shown> shown{};
  std::vector<Tensor> tensors;
};

/// Runs on copies of the tensors (with their strides). `behind`: elements of memory behind each
/// copy.
Outcome run_copies(const Executable&, const RandomProgram&, std::int64_t behind = 0);

/// Empty if equal, where all NaNs are equal; else the first difference, with the seed. For failed
/// runs, only status and shown values are compared.
std::string difference(const RandomProgram&, const Outcome& a, const Outcome& b);

/// A strided tensor of random contents, edge values among them. `layout` 0 is row-major; 1 to 5 are
/// transposed, with gaps, reversed, broadcast on the first axis, and with gaps between rows only.
Tensor random_tensor(std::uint64_t seed, DType, Shape, int layout);
/// The last of these layouts.
inline constexpr int dense_rows = 5;

}  // namespace rondel::scalar
