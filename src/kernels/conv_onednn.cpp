#include "kernels/conv_onednn.h"

#include "base/error.h"

#include <oneapi/dnnl/dnnl.hpp>

#include <map>
#include <mutex>

namespace rondel::kernels {
namespace {

using dnnl::memory;

/// A convolution made for certain shapes. Running it is safe from many threads: what it needs to
/// work in is given at each call.
struct Prepared {
  dnnl::convolution_forward primitive;
  memory::desc x, w, bias, y, scratch;
};

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

memory::desc row_major(const Shape& shape) {
  return {memory::dims(shape.begin(), shape.end()), memory::data_type::f32,
          row_major_strides(shape)};
}

/// Weights of several groups have the group as an axis of its own.
Shape grouped(Shape w, std::int64_t groups) {
  if (groups == 1) return w;
  w[0] /= groups;
  w.insert(w.begin(), groups);
  return w;
}

Prepared prepare(const ConvSpec& spec, const Shape& x, const Shape& w, bool bias, const Shape& y) {
  memory::dims strides, dilations, begins, ends;
  for (std::size_t a = 2; a < x.size(); ++a) {
    const WindowAxis axis = axis_of(spec.window, a - 2, x[a], w[a]);
    strides.push_back(axis.stride);
    dilations.push_back(axis.dilation - 1);
    begins.push_back(axis.begin);
    ends.push_back((y[a] - 1) * axis.stride + axis.reach() - x[a] - axis.begin);
  }
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const auto forward = dnnl::prop_kind::forward_inference;
  const auto method = dnnl::algorithm::convolution_direct;
  const memory::desc dx = row_major(x), dw = row_major(grouped(w, spec.groups)), dy = row_major(y);
  const memory::desc db = row_major({w[0]});
  using Desc = dnnl::convolution_forward::primitive_desc;
  const Desc desc = bias ? Desc(engine(), forward, method, dx, dw, db, dy, strides, dilations,
                                begins, ends, attributes)
                         : Desc(engine(), forward, method, dx, dw, dy, strides, dilations, begins,
                                ends, attributes);
  return {dnnl::convolution_forward(desc), dx, dw, db, dy, desc.scratchpad_desc()};
}

}  // namespace

/// The convolutions of one node, by the shapes it has met; forgotten when there are many.
struct FastConv::Cache {
  static constexpr std::size_t most = 16;
  using Key = std::tuple<Shape, Shape, bool>;
  std::mutex mutex;
  std::map<Key, std::shared_ptr<const Prepared>> made;

  std::shared_ptr<const Prepared> get(const ConvSpec& spec, const Shape& x, const Shape& w,
                                      bool bias, const Shape& y) {
    const std::lock_guard lock(mutex);
    Key key{x, w, bias};
    if (const auto found = made.find(key); found != made.end()) return found->second;
    std::shared_ptr<const Prepared> fresh;
    try {
      fresh = std::make_shared<const Prepared>(prepare(spec, x, w, bias, y));
    } catch (const dnnl::error&) {
      fresh = nullptr;  // what oneDNN does not take stays with the reference
    }
    if (made.size() >= most) made.clear();
    made.emplace(std::move(key), fresh);
    return fresh;
  }
};

FastConv::FastConv(ConvSpec spec) : spec_(std::move(spec)), cache_(std::make_shared<Cache>()) {}

void FastConv::operator()(KernelCall& call) const {
  const Shape& shape = call.tensor(0).shape();
  const Shape y_shape = conv_shape(spec_, shape, call.tensor(1).shape());
  const bool fits = shape.size() >= 3 && shape.size() <= 5 && element_count(y_shape) > 0 &&
                    element_count(shape) > 0;
  if (call.tensor(0).dtype() != DType::f32 || !fits) return conv(call, spec_);
  const Tensor x = call.packed(0), w = call.packed(1);
  const Tensor bias = call.has(2) ? call.packed(2) : Tensor();
  const Tensor y = call.make(0, DType::f32, y_shape);
  const auto ready = cache_->get(spec_, x.shape(), w.shape(), bias.defined(), y_shape);
  if (!ready) return conv(call, spec_);
  const auto bytes = static_cast<std::int64_t>(ready->scratch.get_size());
  const Tensor scratch = call.scratch(DType::u8, {bytes});
  std::unordered_map<int, memory> arguments{
      {DNNL_ARG_SRC, memory(ready->x, engine(), x.data())},
      {DNNL_ARG_WEIGHTS, memory(ready->w, engine(), w.data())},
      {DNNL_ARG_DST, memory(ready->y, engine(), y.data())},
      {DNNL_ARG_SCRATCHPAD, memory(ready->scratch, engine(), scratch.data())}};
  if (bias.defined()) arguments.emplace(DNNL_ARG_BIAS, memory(ready->bias, engine(), bias.data()));
  thread_local dnnl::stream stream(engine());
  ready->primitive.execute(stream, arguments);
  stream.wait();
}

}  // namespace rondel::kernels
