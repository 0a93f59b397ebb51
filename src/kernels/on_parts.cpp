#include "kernels/on_parts.h"

#include "base/block.h"
#include "base/error.h"
#include "kernels/stop_check.h"
#include "kernels/views.h"

#include <algorithm>
#include <cstring>

namespace rondel::kernels {
namespace {

/// Elements of rows that are moved between two looks at the stop flag.
constexpr std::int64_t at_once = StopCheck::interval;

/// Moves a row-major block to where a view has its elements. The block may begin where the view
/// does: no element moves to a lower address, and later ones move before earlier ones.
class Spread {
 public:
  Spread(StopCheck& stop, const View& to, std::size_t rank, std::size_t bytes)
      : stop_(stop), to_(to), rank_(rank), bytes_(static_cast<std::int64_t>(bytes)), dense_(rank) {
    for (rows_ = 1; dense_ > 0 && to.strides[dense_ - 1] == rows_; --dense_)
      rows_ *= to.extents[dense_ - 1];
  }

  void run(const char* block) {
    if (product(extents_of(to_, rank_)) == 0 || (dense_ == 0 && block == to_.data)) return;
    move(0, block, product(extents_of(to_, rank_)), static_cast<char*>(to_.data));
  }

 private:
  /// `count`: the number of elements over the axes from `axis` on.
  void move(std::size_t axis, const char* from, std::int64_t count, char* to) {
    if (axis == dense_) return move_row(from, to);
    const std::int64_t extent = to_.extents[axis], part = count / extent;
    for (std::int64_t i = extent; i-- > 0;)
      move(axis + 1, from + i * part * bytes_, part, to + i * to_.strides[axis] * bytes_);
  }

  void move_row(const char* from, char* to) {
    for (std::int64_t end = rows_; end > 0; end -= std::min(end, at_once)) {
      const std::int64_t begin = std::max<std::int64_t>(0, end - at_once);
      std::memmove(to + begin * bytes_, from + begin * bytes_,
                   static_cast<std::size_t>((end - begin) * bytes_));
      stop_.add_work(end - begin);
    }
  }

  StopCheck& stop_;
  const View& to_;
  std::size_t rank_;
  std::int64_t bytes_, rows_ = 1;
  std::size_t dense_;  ///< the axes from this one on are one block in both
};

/// The views with the extents that a list has for them, one after the other.
std::vector<View> with_extents(std::span<const View> views, std::span<const OperandForm> forms,
                               const std::int64_t* list) {
  std::vector<View> all;
  for (std::size_t k = 0; k < forms.size(); ++k) {
    all.push_back(views[k]);
    if (!forms[k].given) continue;
    all.back().extents = list;
    list += forms[k].rank;
  }
  return all;
}

class KernelOnParts : public SizedKernel {
 public:
  KernelOnParts(std::shared_ptr<const SizedKernel> kernel, std::vector<OperandForm> forms)
      : SizedKernel(kernel->inputs() + 1, kernel->outputs(), kernel->failures()),
        kernel_(std::move(kernel)), forms_(std::move(forms)) {}

  std::int64_t workspace(std::span<const Operand> operands) const override {
    std::vector<Operand> own(operands.begin(), operands.end());
    const auto told = own.begin() + static_cast<std::ptrdiff_t>(kernel_->inputs());
    std::for_each(own.begin(), told, [](Operand& input) { input.row_major = false; });
    own.erase(told);
    return kernel_->workspace(own);
  }

  Status run(Context& context, std::span<const View> given) const override {
    const std::size_t inputs = kernel_->inputs();
    std::vector<View> views(given.begin(), given.end() - 1);
    views.erase(views.begin() + static_cast<std::ptrdiff_t>(inputs));
    std::vector<View> parts = with_extents(views, forms_,
                                           static_cast<const std::int64_t*>(given[inputs].data));
    std::vector<Shape> strides(kernel_->outputs());
    for (std::size_t j = 0; j < strides.size(); ++j) {
      View& part = parts[inputs + j];
      if (!forms_[inputs + j].given) continue;
      strides[j] = row_major_strides(shape_of(inputs + j, part));
      part.strides = strides[j].data();
    }
    const OwnedBlock more = add_workspace(parts, given.back());
    const Status status = kernel_->run(context, parts);
    if (status != done) return status;
    StopCheck stop(context);
    for (std::size_t j = 0; j < strides.size(); ++j) {
      View to = parts[inputs + j];
      if (!forms_[inputs + j].given) continue;
      to.strides = views[inputs + j].strides;
      Spread(stop, to, forms_[inputs + j].rank, byte_size(forms_[inputs + j].dtype))
          .run(static_cast<const char*>(to.data));
    }
    return done;
  }

 private:
  Shape shape_of(std::size_t k, const View& part) const {
    const auto extents = extents_of(part, forms_[k].rank);
    return {extents.begin(), extents.end()};
  }

  /// Adds the view of a workspace that suffices; returns the memory of its own that it needs.
  OwnedBlock add_workspace(std::vector<View>& parts, const View& given) const {
    std::vector<Operand> operands;
    for (std::size_t k = 0; k < forms_.size(); ++k)
      operands.push_back(operand_of(parts[k], forms_[k].rank));
    parts.push_back(given);
    const std::int64_t bytes = kernel_->workspace(operands);
    if (bytes == 0 || (given.data != nullptr && given.extents[0] >= bytes)) return {};
    OwnedBlock more = take_owned_block(static_cast<std::size_t>(bytes));
    if (!more) throw_error(Blame::limit, fmt::format("the system cannot allocate {} bytes", bytes));
    parts.back().data = more.get();
    return more;
  }

  std::shared_ptr<const SizedKernel> kernel_;
  std::vector<OperandForm> forms_;
};

class FindingKernel : public SizedKernel {
 public:
  FindingKernel(UnsizedKernel kernel, std::size_t inputs, std::vector<OperandForm> forms)
      : SizedKernel(inputs + 1, forms.size() - inputs + 1), kernel_(std::move(kernel)),
        forms_(std::move(forms)) {}

  std::int64_t workspace(std::span<const Operand>) const override { return 0; }

  Status run(Context& context, std::span<const View> views) const override {
    const std::size_t count = inputs() - 1;
    const std::span<const OperandForm> forms(forms_);
    std::vector<Value> in = values_of(with_extents(
        views, forms.first(count), static_cast<const std::int64_t*>(views[count].data)));
    std::vector<Value> out(forms.size() - count);
    const UnsizedCall::Allocate allocate = [](DType dtype, Shape shape) {
      return Tensor(dtype, std::move(shape));
    };
    UnsizedCall call(in, out, allocate);
    call.stop = context.stop;
    kernel_(call);
    StopCheck stop(context);
    auto* found = static_cast<std::int64_t*>(views[count + outputs()].data);
    for (std::size_t j = 0; j < out.size(); ++j) {
      if (!forms[count + j].given) continue;
      store(stop, out[j].tensor(), views[inputs() + j]);
      found = std::ranges::copy(out[j].tensor().shape(), found).out;
    }
    return done;
  }

 private:
  std::vector<Value> values_of(std::span<const View> views) const {
    std::vector<Value> values;
    for (std::size_t k = 0; k < views.size(); ++k) {
      const View& v = views[k];
      const std::size_t rank = forms_[k].rank;
      if (!forms_[k].given) values.emplace_back();
      else
        values.emplace_back(Tensor(forms_[k].dtype, Shape(v.extents, v.extents + rank),
                                   Shape(v.strides, v.strides + rank), v.data, nullptr));
    }
    return values;
  }

  static void store(StopCheck& stop, const Tensor& made, View to) {
    for (std::size_t a = 0; a < made.shape().size(); ++a)
      if (made.shape()[a] > to.extents[a]) return;
    to.extents = made.shape().data();
    const Tensor block = made.packed();
    Spread(stop, to, made.shape().size(), byte_size(made.dtype()))
        .run(static_cast<const char*>(block.data()));
  }

  UnsizedKernel kernel_;
  std::vector<OperandForm> forms_;
};

}  // namespace

std::shared_ptr<const SizedKernel> on_parts(std::shared_ptr<const SizedKernel> kernel,
                                            std::vector<OperandForm> forms) {
  return std::make_shared<KernelOnParts>(std::move(kernel), std::move(forms));
}

std::shared_ptr<const SizedKernel> finding_extents(UnsizedKernel kernel, std::size_t inputs,
                                                   std::vector<OperandForm> forms) {
  return std::make_shared<FindingKernel>(std::move(kernel), inputs, std::move(forms));
}

}  // namespace rondel::kernels
