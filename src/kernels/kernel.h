#pragma once
#include "base/kernel_fn.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rondel::kernels {

/// What is known about an operand before a call.
struct Operand {
  bool given = true;                           ///< false: the operand is omitted
  std::span<const std::int64_t> extents = {};  ///< empty if the operand is omitted
  bool row_major = true;                       ///< the operand is known to be a row-major block
};

/// A kernel whose output extents follow from its input extents. It does not allocate memory. A
/// kernel object is created for given attributes, and for given dtypes and ranks of its operands.
/// Safe to call from many threads.
///
/// A call takes, in this order: `inputs()` views, `outputs()` views, one view of the workspace.
/// - The view of an omitted operand has a null address.
/// - Inputs may have any strides. Outputs are row-major blocks, written in place; they must not
///   overlap an input.
/// - The workspace is a row-major block of u8, aligned to 64 bytes, with at least as many bytes as
///   `workspace` returns for these operands. If that is 0, the view may be omitted. The workspace
///   keeps nothing between calls.
/// - The kernel does not check extents: the op's type rule has done so.
///
/// `run` checks `Context::stop` at least every fraction of a millisecond; if it is set, `run`
/// returns `stopped`. A status s > 0 means failure `failures()[s - 1]`; the values in
/// `Context::shown` replace the "{}" in its text.
///
/// In a program, a call of a kernel is one instruction:
///     builder.call({.name = "top_k", .function = kernels::SizedKernel::call, .attributes = kernel,
///                   .views = {{x}, {k}, {values}, {indices}, {workspace}}},
///                  {}, kernel->failures());
/// with buffer -1 for an omitted operand. `Builder::call` adds the failures to the program's sites,
/// in the frames (nodes and trips) that are open. Interpreter and native code add the index of the
/// first of these sites to the kernel's status, and put the trips before the kernel's values in
/// `Context::shown`.
///
/// A kernel uses as many threads as the `ThreadScope` of the caller allows. Call `workspace` in the
/// same scope.
class SizedKernel {
 public:
  virtual ~SizedKernel() = default;

  /// The number of inputs and of outputs, including those that are omitted.
  std::size_t inputs() const { return inputs_; }
  std::size_t outputs() const { return outputs_; }
  /// The error texts of its possible failures; empty if it cannot fail.
  const std::vector<std::string>& failures() const { return failures_; }
  /// The workspace size in bytes for a call with these operands (inputs, then outputs).
  virtual std::int64_t workspace(std::span<const Operand> operands) const = 0;

  virtual Status run(Context&, std::span<const View>) const = 0;

  /// Calls `run` of the kernel that `attributes` points to. This is the function that programs
  /// call.
  static Status call(Context&, std::span<const View>, const void* attributes);

 protected:
  SizedKernel(std::size_t inputs, std::size_t outputs, std::vector<std::string> failures = {})
      : inputs_(inputs), outputs_(outputs), failures_(std::move(failures)) {}

  /// Returns the status for `failures()[site]`, and stores the values for its text in the context.
  static Status failed(Context& context, std::int32_t site,
                       std::initializer_list<std::int64_t> shown);

 private:
  std::size_t inputs_, outputs_;
  std::vector<std::string> failures_;
};

}  // namespace rondel::kernels
