#pragma once
#include "kernels/quad.h"
#include "kernels/views.h"
#include "kernels/workspace.h"

namespace rondel::kernels {

/// A kernel with one input, of bytes, and one output, of quads: `pack(stop, x, extents, to)`, for a
/// row-major x.
template <class Pack> class PackingKernel final : public SizedKernel {
 public:
  PackingKernel(std::size_t rank, Pack pack)
      : SizedKernel(1, 1), rank_(rank), pack_(std::move(pack)) {}

  std::int64_t workspace(std::span<const Operand> o) const override {
    Workspace counted;
    counted.take<std::uint8_t>(packing_size(o[0]));
    return counted.bytes();
  }

  Status run(Context& context, std::span<const View> v) const override {
    StopCheck stop(context);
    Workspace workspace(v.back());
    auto* copy = workspace.take<std::uint8_t>(packing_size(operand_of(v[0], rank_)));
    pack_(stop, row_major(stop, v[0], rank_, copy), extents_of(v[0], rank_),
          static_cast<Quad*>(v[1].data));
    return done;
  }

 private:
  std::size_t rank_;
  Pack pack_;
};

template <class Pack>
std::shared_ptr<const SizedKernel> packing_kernel(std::size_t rank, Pack pack) {
  return std::make_shared<PackingKernel<Pack>>(rank, std::move(pack));
}

}  // namespace rondel::kernels
