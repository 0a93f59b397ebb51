#include "kernels/conv_onednn.h"

#include "base/error.h"
#include "kernels/conv_windows.h"
#include "kernels/looks.h"
#include "kernels/threads.h"

#include <oneapi/dnnl/dnnl.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <vector>

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

/// oneDNN makes its code for products at the first one, which takes tens of milliseconds: that is
/// had when a model is loaded, since no run could be ended meanwhile.
void make_products_ready() {
  constexpr std::int64_t n = 16;
  static const auto done = [] {
    const std::array<float, n * n> a{}, b{};
    std::array<float, n * n> c{};
    return dnnl::sgemm('N', 'N', n, n, n, 1, a.data(), n, b.data(), n, 0, c.data(), n);
  }();
  static_cast<void>(done);
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

/// What a convolution is made for. `begins`: the padding before each spatial axis, which parts of
/// one convolution differ in. `threads`: oneDNN shares the work out when it makes one, so in a
/// forked child, which works alone, those of the parent will not do.
struct Shapes {
  Shape x, w, y;
  bool bias;
  Shape begins;
  int threads;
  auto operator<=>(const Shapes&) const = default;
};

Prepared prepare(const ConvSpec& spec, const Shapes& s) {
  const auto& [x, w, y, bias, begins, threads] = s;
  memory::dims strides, dilations, ends;
  for (std::size_t a = 2; a < x.size(); ++a) {
    const WindowAxis axis = axis_of(spec.window, a - 2, x[a], w[a]);
    strides.push_back(axis.stride);
    dilations.push_back(axis.dilation - 1);
    ends.push_back((y[a] - 1) * axis.stride + axis.reach() - x[a] - begins[a - 2]);
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
  static constexpr std::size_t most = 64;
  std::mutex mutex;
  std::map<Shapes, std::shared_ptr<const Prepared>> made;

  /// Null where oneDNN does not take it.
  std::shared_ptr<const Prepared> get(const ConvSpec& spec, const Shapes& shapes) {
    const std::lock_guard lock(mutex);
    if (const auto found = made.find(shapes); found != made.end()) return found->second;
    std::shared_ptr<const Prepared> fresh;
    try {
      fresh = std::make_shared<const Prepared>(prepare(spec, shapes));
    } catch (const dnnl::error&) { fresh = nullptr; }
    if (made.size() >= most) made.clear();
    made.emplace(shapes, fresh);
    return fresh;
  }
};

FastConv::FastConv(ConvSpec spec) : spec_(std::move(spec)), cache_(std::make_shared<Cache>()) {
  make_products_ready();
}

/// One convolution in parts of about a millisecond, between which the run may be ended: some images
/// of the batch, or some rows of one image, or a part of one row, or some output maps; what is no
/// block by itself is copied.
class FastConv::InParts {
 public:
  InParts(const FastConv& conv, UnsizedCall& call, const Tensor& y)
      : conv_(conv), call_(call), looks_(call), x_(packed_with_looks(call, 0)),
        w_(packed_with_looks(call, 1)), bias_(call.has(2) ? packed_with_looks(call, 2) : Tensor()),
        y_(y) {
    for (std::size_t a = 2; a < y.shape().size(); ++a)
      axes_.push_back(axis_of(conv.spec_.window, a - 2, x_.shape()[a], w_.shape()[a]));
  }

  /// False where oneDNN does not take it.
  bool run() {
    const std::int64_t images = x_.shape()[0];
    const std::int64_t at_once = std::clamp<std::int64_t>(most / (work(y_) / images), 1, images);
    Shape begins;
    for (const WindowAxis& axis : axes_) begins.push_back(axis.begin);
    for (std::int64_t n = 0; n < images; n += at_once) {
      const std::int64_t count = std::min(at_once, images - n);
      if (!convolve_along(0, part(x_, 0, n, count), part(y_, 0, n, count), begins)) return false;
    }
    return true;
  }

 private:
  /// Multiplications of a part.
  static constexpr std::int64_t most = std::int64_t{1} << 24;

  /// Less than that takes longer to share out among threads than to do.
  static constexpr std::int64_t least_shared = std::int64_t{1} << 20;

  static Tensor part(const Tensor& t, std::size_t axis, std::int64_t from, std::int64_t count) {
    Shape shape = t.shape();
    shape[axis] = count;
    return t.strided(from * t.strides()[axis], std::move(shape), t.strides());
  }

  /// About how many multiplications it takes to make `y`; those of groups take longer, as little is
  /// read more than once.
  std::int64_t work(const Tensor& y) const {
    return y.size() * (w_.size() / w_.shape()[0]) * (conv_.spec_.groups > 1 ? 8 : 1);
  }

  /// Whether no window lies in the padding before or after `axis` as a whole.
  bool every_place_reads(std::size_t axis) const {
    const WindowAxis& window = axes_[axis];
    return window.begin < window.reach() &&
           (y_.shape()[axis + 2] - 1) * window.stride - window.begin < x_.shape()[axis + 2];
  }

  /// In parts along the spatial axes from `axis` on, those along earlier axes being of one place.
  bool convolve_along(std::size_t axis, const Tensor& x, const Tensor& y, const Shape& begins) {
    if (work(y) <= 2 * most || axis == axes_.size()) return convolve_maps(x, y, begins);
    if (!every_place_reads(axis)) return convolve_along(axis + 1, x, y, begins);
    const WindowAxis& window = axes_[axis];
    const std::size_t a = axis + 2;
    const std::int64_t places = y.shape()[a];
    const std::int64_t at_once = std::max<std::int64_t>(most / (work(y) / places), 1);
    for (std::int64_t p = 0; p < places; p += at_once) {
      const std::int64_t count = std::min(at_once, places - p);
      const std::int64_t first = p * window.stride - window.begin;
      const std::int64_t end = first + (count - 1) * window.stride + window.reach();
      const std::int64_t from = std::max<std::int64_t>(first, 0), to = std::min(end, x.shape()[a]);
      Shape part_begins = begins;
      part_begins[axis] = from - first;
      if (!convolve_along(axis + 1, part(x, a, from, to - from), part(y, a, p, count), part_begins))
        return false;
    }
    return true;
  }

  /// In parts of some output maps, where one place still takes long: not of few, since each part
  /// goes over the input anew.
  bool convolve_maps(const Tensor& x, const Tensor& y, const Shape& begins) {
    const Tensor in = packed(x);
    const std::int64_t maps = y.shape()[1];
    const std::int64_t at_once = conv_.spec_.groups > 1
                                     ? maps
                                     : std::max<std::int64_t>(most / (work(y) / maps), 16);
    if (work(y) <= 2 * most || at_once >= maps) return convolve_packed(in, y, w_, bias_, begins);
    for (std::int64_t m = 0; m < maps; m += at_once) {
      const std::int64_t count = std::min(at_once, maps - m);
      const Tensor bias = bias_.defined() ? part(bias_, 0, m, count) : Tensor();
      if (!convolve_packed(in, part(y, 1, m, count), part(w_, 0, m, count), bias, begins))
        return false;
    }
    return true;
  }

  /// A result that is no block of its own is made beside and copied.
  bool convolve_packed(const Tensor& x, const Tensor& y, const Tensor& w, const Tensor& bias,
                       const Shape& begins) {
    if (y.contiguous()) return convolve(x, y, w, bias, begins);
    const Tensor out = call_.scratch(DType::f32, y.shape());
    if (!convolve(x, out, w, bias, begins)) return false;
    looks_.assign(out, y);
    return true;
  }

  Tensor packed(const Tensor& x) const {
    if (x.contiguous()) return x;
    const Tensor block = call_.scratch(DType::f32, x.shape());
    looks_.assign(x, block);
    return block;
  }

  bool convolve(const Tensor& x, const Tensor& y, const Tensor& w, const Tensor& bias,
                const Shape& begins) {
    looks_.look();
    const ThreadScope threads(work(y) < least_shared ? 1 : 0);
    const auto ready = conv_.cache_->get(
        conv_.spec_, {x.shape(), w.shape(), y.shape(), bias.defined(), begins, thread_count()});
    if (!ready) return false;
    const Tensor scratch = call_.scratch(DType::u8,
                                         {static_cast<std::int64_t>(ready->scratch.get_size())});
    std::unordered_map<int, memory> arguments{
        {DNNL_ARG_SRC, memory(ready->x, engine(), x.data())},
        {DNNL_ARG_WEIGHTS, memory(ready->w, engine(), w.data())},
        {DNNL_ARG_DST, memory(ready->y, engine(), y.data())},
        {DNNL_ARG_SCRATCHPAD, memory(ready->scratch, engine(), scratch.data())}};
    if (bias.defined())
      arguments.emplace(DNNL_ARG_BIAS, memory(ready->bias, engine(), bias.data()));
    thread_local dnnl::stream stream(engine());
    ready->primitive.execute(stream, arguments);
    stream.wait();
    return true;
  }

  const FastConv& conv_;
  UnsizedCall& call_;
  const Looks looks_;
  const Tensor x_, w_, bias_, y_;
  std::vector<WindowAxis> axes_;
};

void FastConv::operator()(UnsizedCall& call) const {
  const Shape& shape = call.tensor(0).shape();
  const Shape y_shape = conv_shape(spec_, shape, call.tensor(1).shape());
  const bool fits = shape.size() >= 3 && shape.size() <= 5 && element_count(y_shape) > 0 &&
                    call.tensor(1).size() > 0 && element_count(shape) > 0;
  if (call.tensor(0).dtype() != DType::f32 || !fits) return conv(call, spec_);
  const Tensor y = call.make(0, DType::f32, y_shape);
  if (few_large_windows(y_shape, call.tensor(1).shape()))
    return conv_windows(call, spec_, packed_with_looks(call, 0), packed_with_looks(call, 1),
                        call.has(2) ? packed_with_looks(call, 2) : Tensor(), y);
  if (!InParts(*this, call, y).run()) conv(call, spec_);
}

}  // namespace rondel::kernels
