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
  bool given = true;                           ///< false: left out
  std::span<const std::int64_t> extents = {};  ///< of one that is given
  bool row_major = true;                       ///< it certainly is a row-major block
};

/// A kernel whose operands' extents all follow from its inputs' extents, and which allocates
/// nothing: prepared for attributes and for the dtypes and ranks of its operands. Safe to call from
/// many threads.
///
/// A call takes, in this order: `inputs()` views, `outputs()` views, one view of the workspace.
/// - The view of an operand that is left out has a null address.
/// - Inputs may have any strides. Outputs are row-major blocks and are written in place; they lie
///   over no input.
/// - The workspace is a row-major block of u8, aligned to 64 bytes, of at least as many bytes as
///   `workspace` says of these operands; where it says 0, the view may be left out. It holds
///   nothing from call to call.
/// - Extents are as the op's type rule has them; the kernel relies on that.
///
/// `run` checks `Context::stop` at least every fraction of a millisecond, and returns `stopped`.
/// Status s > 0 says that `failures()[s - 1]` happened; its "{}" take what `Context::shown` holds.
///
/// In a program it is one instruction:
///     builder.call({.name = "top_k", .function = kernels::SizedKernel::call, .attributes = kernel,
///                   .views = {{x}, {k}, {values}, {indices}, {workspace}}},
///                  {}, kernel->failures());
/// with buffer -1 for what is left out. `Builder::call` makes the failures sites of the program, in
/// the frames (nodes and trips) that are open; interpreter and native code add the number of the
/// first of them to the kernel's status, and show the trips before what the kernel shows. Threads:
/// as many as the `ThreadScope` says in which it is called; the workspace is to be asked for in the
/// same.
class SizedKernel {
 public:
  virtual ~SizedKernel() = default;

  /// Those a call has views for, given or not.
  std::size_t inputs() const { return inputs_; }
  std::size_t outputs() const { return outputs_; }
  /// Texts of the sites where it can fail; none: it cannot.
  const std::vector<std::string>& failures() const { return failures_; }
  /// How many bytes a call on such operands (inputs, then outputs) works in.
  virtual std::int64_t workspace(std::span<const Operand> operands) const = 0;

  virtual Status run(Context&, std::span<const View>) const = 0;

  /// `run` of the kernel that `attributes` points to: what programs call.
  static Status call(Context&, std::span<const View>, const void* attributes);

 protected:
  SizedKernel(std::size_t inputs, std::size_t outputs, std::vector<std::string> failures = {})
      : inputs_(inputs), outputs_(outputs), failures_(std::move(failures)) {}

  /// The status of failure number `site`.
  static Status failed(Context& context, std::int32_t site,
                       std::initializer_list<std::int64_t> shown);

 private:
  std::size_t inputs_, outputs_;
  std::vector<std::string> failures_;
};

}  // namespace rondel::kernels
