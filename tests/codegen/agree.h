#pragma once
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/thread_pool.h"
#include "codegen/compiler.h"
#include "scalar/builder.h"
#include "scalar/run.h"
#include "scalar/with_checks.h"

#include <cstring>
#include <random>

/// Comparison of native code with the interpreter, bit for bit.
namespace rondel::codegen {

inline const Compiler& compiler() {
  static const Compiler one;
  return one;
}

/// A compiler of which threads share all loops and products.
inline const Compiler& dividing_compiler() {
  static const Compiler one(true);
  return one;
}

inline const char* name(Compiler::Tier t) {
  return t == Compiler::Tier::quick ? "quick" : "optimised";
}

template <class T> bool is_nan_at(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value != value;
}

/// Whether the element is a NaN. NaNs are not compared further: the payload depends on the
/// processor.
inline bool is_nan(DType t, const char* at) {
  std::uint16_t half;
  switch (t) {
    case DType::f64: return is_nan_at<double>(at);
    case DType::f32: return is_nan_at<float>(at);
    case DType::f16: std::memcpy(&half, at, 2); return (half & 0x7fff) > 0x7c00;
    case DType::bf16: std::memcpy(&half, at, 2); return (half & 0x7fff) > 0x7f80;
    default: return false;
  }
}

inline std::string bits_at(const char* at, std::size_t bytes) {
  std::string text;
  for (std::size_t i = bytes; i-- > 0;)
    text += fmt::format("{:02x}", static_cast<unsigned char>(at[i]));
  return text;
}

inline void expect_equal(const Tensor& expected, const Tensor& actual, const std::string& what) {
  const std::size_t bytes = byte_size(expected.dtype());
  const auto n = static_cast<std::size_t>(expected.size());
  int shown = 0;
  for (std::size_t i = 0; i < n && shown < 5; ++i) {
    const char* e = expected.data_as<char>() + i * bytes;
    const char* a = actual.data_as<char>() + i * bytes;
    if (std::memcmp(e, a, bytes) == 0) continue;
    if (is_nan(expected.dtype(), e) && is_nan(expected.dtype(), a)) continue;
    ADD_FAILURE() << what << " element " << i << ": interpreter " << bits_at(e, bytes)
                  << ", native " << bits_at(a, bytes);
    ++shown;
  }
}

inline std::vector<Tensor> copies(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) out.push_back(t.copy());
  return out;
}

struct Outcome {
  scalar::Status status;
  std::array<std::int64_t, most_shown> shown;
  std::vector<Tensor> tensors;
};

/// Runs on `tensors`, which may overlap. Restores their elements afterwards.
inline Outcome outcome(const scalar::Executable& executable, const std::vector<Tensor>& tensors,
                       const std::vector<std::int64_t>& params, std::atomic<std::int32_t>* stop,
                       int threads = 1) {
  const std::vector<Tensor> before = copies(tensors);
  scalar::Context context;
  context.stop = stop;
  const ThreadScope scope(threads);
  const scalar::Status status = scalar::run(executable, context, tensors, params);
  Outcome result{status, context.shown, copies(tensors)};
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (executable.program().buffers[i].access != scalar::Access::in) tensors[i].assign(before[i]);
  return result;
}

/// Expects that both tiers, the quick tier with several threads, and the optimised tier with checks
/// do the same as the interpreter. Returns the interpreter's status.
inline scalar::Status agree(const std::shared_ptr<const scalar::Program>& program,
                            const std::vector<Tensor>& tensors,
                            const std::vector<std::int64_t>& params = {},
                            std::atomic<std::int32_t>* stop = nullptr) {
  const Outcome expected = outcome(*scalar::interpret(program), tensors, params, stop);
  const auto compare = [&](const scalar::Executable& code, int threads, const std::string& what) {
    const Outcome actual = outcome(code, tensors, params, stop, threads);
    EXPECT_EQ(expected.status, actual.status) << program->name << ", " << what;
    EXPECT_EQ(expected.shown, actual.shown) << program->name << ", " << what;
    if (expected.status == scalar::stopped) return;  // what was written is unspecified
    for (std::size_t i = 0; i < tensors.size(); ++i)
      expect_equal(expected.tensors[i], actual.tensors[i],
                   fmt::format("{}, {}, {}", program->name, what, program->buffers[i].name));
  };
  for (const auto tier : {Compiler::Tier::quick, Compiler::Tier::optimised})
    compare(*compiler().compile(program, tier), 1, name(tier));
  const auto divided = dividing_compiler().compile(program, Compiler::Tier::quick);
  for (const int threads : {1, 3})
    compare(*divided, threads, fmt::format("divided, {} threads", threads));
  compare(*compiler().compile(scalar::with_checks(*program)), 1, "with checks");
  return expected.status;
}

/// `n` values: the edge cases of the type's arithmetic, followed by random bits.
Tensor edge_values(DType, std::int64_t n, std::uint32_t seed);
/// Moderate values, so that sums of products stay finite.
Tensor plain_values(DType, Shape, std::uint32_t seed);

inline const std::vector<DType> arithmetic_types{DType::f64, DType::f32, DType::i64, DType::i32,
                                                 DType::i16, DType::i8,  DType::u64, DType::u32,
                                                 DType::u16, DType::u8};

}  // namespace rondel::codegen
