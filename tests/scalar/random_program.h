#pragma once
#include <rondel/tensor.h>

#include "scalar/program.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

/// Random scalar programs: nested loops, ifs, carried values, conditional loops, checks,
/// reductions, products, loads and stores through all kinds of strides, all types. Two executors
/// must agree on them bit for bit, but for the bits of NaN, which the programs never look at.
namespace rondel::scalar {

struct RandomProgram {
  std::uint64_t seed = 0;
  std::shared_ptr<const Program> program;
  std::vector<Tensor> tensors;  ///< one a parameter buffer, outputs filled with what stays
  std::vector<std::int64_t> params;
  int shared = -1;  ///< this output lives in the block of the tensor before it, if one does
};

/// The same program for the same seed.
RandomProgram random_program(std::uint64_t seed);

/// What a run left behind.
struct Outcome {
  Status status = done;
  std::array<std::int64_t, most_shown> shown{};
  std::vector<Tensor> tensors;
};

/// Runs on copies of the tensors (with their strides).
Outcome run_copies(const Executable&, const RandomProgram&);

/// Empty when equal, NaN equal to any NaN; else what differs first, with the seed. Of runs that
/// failed only status and shown values are compared.
std::string difference(const RandomProgram&, const Outcome& a, const Outcome& b);

/// A strided tensor of random contents, edge values among them. `layout` 0 is row-major; 1 to 4
/// are transposed, with gaps, reversed, broadcast on the first axis.
Tensor random_tensor(std::uint64_t seed, DType, Shape, int layout);

}  // namespace rondel::scalar
