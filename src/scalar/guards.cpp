#include "scalar/guards.h"

#include "base/block.h"
#include "base/error.h"
#include "base/poison.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

namespace rondel::scalar {
namespace {

// Sanitizers know only the bounds of C++ objects, and the tail of a result is behind one.
#define RONDEL_UNSANITIZED __attribute__((no_sanitize("address", "thread")))

constexpr std::size_t guard_bytes = 256;
constexpr unsigned char guard_byte = 0xb7;

/// What the functions of this file must know about a view besides the view itself.
struct ArrayType {
  DType dtype;
  std::int64_t rank;
};

/// One object per type, so that the attributes of equal calls are equal.
std::shared_ptr<const void> array_type(DType dtype, std::int64_t rank) {
  static std::mutex mutex;
  static auto* types = new std::map<std::pair<DType, std::int64_t>, std::shared_ptr<ArrayType>>;
  const std::lock_guard lock(mutex);
  std::shared_ptr<ArrayType>& type = (*types)[{dtype, rank}];
  if (!type) type = std::make_shared<ArrayType>(dtype, rank);
  return type;
}

std::shared_ptr<const void> type_of(const Program& p, Call::Operand part) {
  const Buffer& b = p.buffers[static_cast<std::size_t>(part.buffer)];
  return array_type(b.dtype, b.rank() - part.leading);
}

std::size_t row_major_bytes(const View& v, DType dtype, std::int64_t rank) {
  std::size_t bytes = byte_size(dtype);
  for (std::int64_t axis = 0; axis < rank; ++axis)
    bytes *= static_cast<std::size_t>(v.extents[axis]);
  return bytes;
}

/// The address behind the last element of a view; null if there is no element.
unsigned char* end_of(const View& v, const ArrayType& type) {
  std::int64_t last = 0;
  for (std::int64_t axis = 0; axis < type.rank; ++axis) {
    if (v.extents[axis] == 0) return nullptr;
    last += std::max<std::int64_t>(0, (v.extents[axis] - 1) * v.strides[axis]);
  }
  return static_cast<unsigned char*>(v.data) +
         (last + 1) * static_cast<std::int64_t>(byte_size(type.dtype));
}

Status poison_view(Context& context, std::span<const View> views, const void* attributes) {
  constexpr std::size_t most = std::size_t{1} << 20;
  const auto& type = *static_cast<const ArrayType*>(attributes);
  const std::size_t bytes = row_major_bytes(views[0], type.dtype, type.rank);
  for (std::size_t at = 0; at < bytes; at += most) {
    if (context.stop != nullptr && context.stop->load(std::memory_order_relaxed) != 0)
      return stopped;
    poison(type.dtype, static_cast<char*>(views[0].data) + at, std::min(most, bytes - at));
  }
  return done;
}

RONDEL_UNSANITIZED Status save_tail(Context&, std::span<const View> views, const void* type) {
  const volatile unsigned char* end = end_of(views[0], *static_cast<const ArrayType*>(type));
  auto* saved = static_cast<unsigned char*>(views[1].data);
  for (std::int64_t i = 0; end != nullptr && i < tail_bytes; ++i) saved[i] = end[i];
  return done;
}

RONDEL_UNSANITIZED Status compare_tail(Context&, std::span<const View> views, const void* type) {
  const volatile unsigned char* end = end_of(views[0], *static_cast<const ArrayType*>(type));
  const auto* saved = static_cast<const unsigned char*>(views[1].data);
  for (std::int64_t i = 0; end != nullptr && i < tail_bytes; ++i)
    if (saved[i] != end[i]) return 1;
  return done;
}

/// The memory of an output, with guards before and behind it.
class GuardedBlock {
 public:
  GuardedBlock(DType dtype, std::size_t bytes)
      : bytes_(bytes), block_(take_owned_block(bytes + 2 * guard_bytes)) {
    if (!block_)
      throw_error(Blame::limit, fmt::format("the system cannot allocate {} bytes", bytes));
    std::memset(begin() - guard_bytes, guard_byte, guard_bytes);
    poison(dtype, begin(), bytes);
    std::memset(begin() + bytes, guard_byte, guard_bytes);
  }
  unsigned char* begin() const { return static_cast<unsigned char*>(block_.get()) + guard_bytes; }
  bool guards_hold() const {
    const auto intact = [](const unsigned char* guard) {
      return std::all_of(guard, guard + guard_bytes, [](auto b) { return b == guard_byte; });
    };
    return intact(begin() - guard_bytes) && intact(begin() + bytes_);
  }
  void copy_to(void* output) const {
    if (bytes_ > 0) std::memcpy(output, begin(), bytes_);
  }

 private:
  std::size_t bytes_;
  OwnedBlock block_;
};

}  // namespace

Status GuardedKernel::run(Context& context, std::span<const View> views) const {
  std::vector<View> own(views.begin(), views.end());
  std::vector<std::pair<const Output*, GuardedBlock>> blocks;
  for (const Output& output : outputs) {
    if (output.view >= own.size() || own[output.view].data == nullptr) continue;
    View& view = own[output.view];
    blocks.emplace_back(
        &output, GuardedBlock(output.dtype, row_major_bytes(view, output.dtype, output.rank)));
    view.data = blocks.back().second.begin();
  }
  const Status status = function(context, own, attributes.get());
  for (const auto& [output, block] : blocks)
    invariant(block.guards_hold(), "kernel {} wrote outside of its output or workspace {}", name,
              output->view);
  if (status != stopped)
    for (const auto& [output, block] : blocks) block.copy_to(views[output->view].data);
  return status;
}

Status GuardedKernel::call(Context& context, std::span<const View> views, const void* attributes) {
  return static_cast<const GuardedKernel*>(attributes)->run(context, views);
}

Call guarded(const Program& p, const Call& call) {
  auto kernel = std::make_shared<GuardedKernel>();
  for (std::size_t i = call.first_written; i < call.views.size(); ++i) {
    const Call::Operand& operand = call.views[i];
    if (operand.buffer < 0) continue;
    const Buffer& b = p.buffers[static_cast<std::size_t>(operand.buffer)];
    if (b.contiguous) kernel->outputs.push_back({i, b.dtype, b.rank() - operand.leading});
  }
  if (kernel->outputs.empty()) return call;
  kernel->name = call.name;
  kernel->function = call.function;
  kernel->attributes = call.attributes;
  Call through = call;
  through.function = GuardedKernel::call;
  through.attributes = std::move(kernel);
  return through;
}

Call poisoning(const Program& p, std::int32_t buffer) {
  return {.name = "poison",
          .function = poison_view,
          .attributes = type_of(p, {buffer}),
          .views = {{buffer}}};
}

Call saving_tail(const Program& p, Call::Operand part, std::int32_t saved) {
  return {.name = "save_tail",
          .function = save_tail,
          .attributes = type_of(p, part),
          .views = {part, {saved}}};
}

Call comparing_tail(const Program& p, Call::Operand part, std::int32_t saved) {
  return {.name = "compare_tail",
          .function = compare_tail,
          .attributes = type_of(p, part),
          .views = {part, {saved}}};
}

}  // namespace rondel::scalar
