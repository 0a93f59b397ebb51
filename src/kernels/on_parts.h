#pragma once
#include "kernels/kernel.h"
#include "kernels/unsized_kernel.h"
#include <rondel/dtype.h>

#include <cstddef>
#include <memory>
#include <vector>

/// Kernels that native code calls on values whose extents become known while it runs. The buffers
/// have room for more than the values, so their extents say nothing.
namespace rondel::kernels {

/// An operand of a kernel, as far as it is known before the program runs.
struct OperandForm {
  bool given = true;  ///< false: the operand is left out; the rest does not matter
  DType dtype = DType::u8;
  std::size_t rank = 0;
};

/// A kernel on parts of buffers. The calls differ from those of `kernel` in these points:
/// - After the inputs comes one more: a list, i64, of the extents of all inputs and outputs that
///   are given, in this order. The values are the beginnings of the views' axes.
/// - Outputs may have any strides of row-major blocks with at least as long axes.
/// - `workspace` receives the most that each extent may be. If a call needs more, because its own
///   extents are smaller, it takes the memory itself.
/// `forms`: those of all inputs and outputs of `kernel`.
std::shared_ptr<const SizedKernel> on_parts(std::shared_ptr<const SizedKernel> kernel,
                                            std::vector<OperandForm> forms);

/// A kernel that finds the extents of its outputs. Inputs are as above. After the outputs comes one
/// more: a list, i64, which gets the extents of all outputs that are given. An output is
/// stored to the beginnings of its view's axes, if it fits there. The outputs, and what the kernel
/// needs besides, take memory of their own while a call runs.
/// `inputs`: the number of inputs; `forms`: those of all inputs and outputs of `kernel`.
std::shared_ptr<const SizedKernel> finding_extents(UnsizedKernel kernel, std::size_t inputs,
                                                   std::vector<OperandForm> forms);

}  // namespace rondel::kernels
