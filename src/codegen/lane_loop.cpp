// Loops whose trips are lanes of vectors.
#include "codegen/function_builder.h"

#include <numeric>

namespace rondel::codegen {
namespace {

/// Gives each lane arrays of its own in place of the loop's private ones: element after element,
/// each with the values of all lanes. The old ones come back at the end of the scope.
class PrivateArrays {
 public:
  PrivateArrays(FunctionBuilder& fb, const LaneLoop& loop) : fb_(fb) {
    constexpr std::uint64_t alignment = 64;
    for (const std::int32_t id : loop.private_locals) {
      BoundBuffer& b = fb.buffers[static_cast<std::size_t>(id)];
      shared_.emplace_back(id, b);
      std::uint64_t bytes = byte_size(b.buffer->dtype) * static_cast<std::uint64_t>(loop.width);
      for (const std::int64_t extent : b.buffer->extents)
        bytes *= static_cast<std::uint64_t>(extent);
      b.data = fb.frame_slot(llvm::ArrayType::get(fb.build.getInt8Ty(), bytes),
                             llvm::Align(alignment));
      for (Value*& stride : b.strides) stride = fb.build.CreateMul(stride, fb.i64(loop.width));
    }
  }
  ~PrivateArrays() {
    for (const auto& [id, buffer] : shared_) fb_.buffers[static_cast<std::size_t>(id)] = buffer;
  }
  PrivateArrays(const PrivateArrays&) = delete;
  PrivateArrays& operator=(const PrivateArrays&) = delete;

 private:
  FunctionBuilder& fb_;
  std::vector<std::pair<std::int32_t, BoundBuffer>> shared_;
};

/// Emits the trips [lo, hi), as many at once as there are lanes. `masked`: the last lanes may be no
/// trips.
void emit_trips(FunctionBuilder& fb, std::size_t at, Value* lo, Value* hi, bool masked) {
  const Inst& begin = fb.program.code[at];
  const auto end = static_cast<std::size_t>(begin.jump);
  begin_for(fb, begin, lo, hi, fb.lanes->width);
  if (masked)
    fb.mask = fb.build.CreateICmpSLT(all_lanes(fb, fb.program.results(begin)[0]),
                                     fb.build.CreateVectorSplat(fb.lane_count(), hi));
  emit_range(fb, at + 1, end);
  fb.mask = nullptr;
  end_for(fb, fb.program.code[end]);
}

/// Emits the trips [lo, hi) one by one.
void emit_trips_singly(FunctionBuilder& fb, std::size_t at, Value* lo, Value* hi) {
  const Inst& begin = fb.program.code[at];
  const auto end = static_cast<std::size_t>(begin.jump);
  begin_for(fb, begin, lo, hi, 1);
  emit_range(fb, at + 1, end);
  end_for(fb, fb.program.code[end]);
}

/// Emits the trips of a short loop, a vector of them after the other. The last vectors of a known
/// number of trips are shorter: a masked load of elements that were just stored would wait for
/// them.
void emit_unrolled(FunctionBuilder& fb, std::size_t at, const LaneLoop& loop) {
  const Inst& begin = fb.program.code[at];
  const auto end = static_cast<std::size_t>(begin.jump);
  const auto [lo, hi] = fb.trips(begin);
  if (fb.safepoint(begin).before) emit_stop_check(fb);
  llvm::BasicBlock* done = fb.block("done");
  for (std::int64_t first = 0; first < loop.unrolled;) {
    LaneLoop together = loop;
    while (!loop.tail && together.width > loop.unrolled - first) together.width /= 2;
    fb.lanes = together.width > 1 ? &together : nullptr;
    Value* index = fb.build.CreateAdd(lo, fb.i64(first));
    fb.define(begin, 0, index);
    if (loop.tail) {
      llvm::BasicBlock* some = fb.block("some");
      fb.build.CreateCondBr(fb.build.CreateICmpSLT(index, hi), some, done);
      fb.build.SetInsertPoint(some);
      fb.mask = fb.build.CreateICmpSLT(all_lanes(fb, fb.program.results(begin)[0]),
                                       fb.build.CreateVectorSplat(fb.lane_count(), hi));
    }
    emit_range(fb, at + 1, end);
    first += together.width;
  }
  fb.mask = nullptr;
  fb.build.CreateBr(done);
  fb.build.SetInsertPoint(done);
}

/// Emits the loop that begins at instruction `at`, whose trips are lanes.
void emit_lane_loop(FunctionBuilder& fb, std::size_t at) {
  constexpr std::int64_t interleaved_by_llvm = 4;
  const LaneLoop& loop = fb.decisions.lanes.loops.at(at);
  const PrivateArrays arrays(fb, loop);
  const auto [lo, hi] = fb.trips(fb.program.code[at]);
  if (loop.unrolled > 0 && &fb.program.code[at] != fb.part) {
    emit_unrolled(fb, at, loop);
  } else if (loop.only_tail) {
    Value* middle = end_of_whole(fb, lo, hi, interleaved_by_llvm * loop.width);
    emit_trips_singly(fb, at, lo, middle);
    fb.lanes = &loop;
    emit_trips(fb, at, middle, hi, true);
  } else if (!loop.tail && &fb.program.code[at] != fb.part) {
    fb.lanes = &loop;
    emit_trips(fb, at, lo, hi, false);
  } else {
    fb.lanes = &loop;
    Value* middle = end_of_whole(fb, lo, hi, loop.width);
    emit_trips(fb, at, lo, middle, false);
    emit_trips(fb, at, middle, hi, true);
  }
  fb.lanes = nullptr;
}

}  // namespace

void emit_range(FunctionBuilder& fb, std::size_t begin, std::size_t end) {
  for (std::size_t at = begin; at < end; ++at) {
    const Inst& inst = fb.program.code[at];
    if (inst.op != Op::for_) {
      emit_instruction(fb, inst);
      continue;
    }
    if (const Part* part = part_at(fb, at))
      emit_divided(fb, at, *part, nullptr, [at](FunctionBuilder& in) { emit_loop(in, at); });
    else emit_loop(fb, at);
    at = static_cast<std::size_t>(inst.jump);
  }
}

void emit_loop(FunctionBuilder& fb, std::size_t at) {
  if (fb.decisions.lanes.loops.contains(at)) return emit_lane_loop(fb, at);
  if (fb.lanes != nullptr)
    if (const auto columns = fb.lanes->column_loops.find(at);
        columns != fb.lanes->column_loops.end())
      return emit_column_loop(fb, at, columns->second);
  const Inst& begin = fb.program.code[at];
  const auto end = static_cast<std::size_t>(begin.jump);
  begin_for(fb, begin);
  emit_range(fb, at + 1, end);
  end_for(fb, fb.program.code[end]);
}

Value* end_of_whole(FunctionBuilder& fb, Value* lo, Value* hi, std::int64_t together) {
  Value* whole = fb.build.CreateAnd(fb.build.CreateSub(hi, lo), fb.i64(-together));
  Value* some = fb.build.CreateICmpSGT(hi, lo);
  return fb.build.CreateAdd(lo, fb.build.CreateSelect(some, whole, fb.i64(0)));
}

llvm::Constant* numbers_up_to(FunctionBuilder& fb, unsigned count) {
  std::vector<std::uint64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return llvm::ConstantDataVector::get(fb.llvm, numbers);
}

Value* all_lanes(FunctionBuilder& fb, Reg r) {
  Value* value = fb.reg(r);
  const Variation variation = fb.decisions.lanes.variation[static_cast<std::size_t>(r)];
  if (variation == Variation::any) return value;
  Value* same = fb.build.CreateVectorSplat(fb.lane_count(), value);
  return variation == Variation::none
             ? same
             : fb.build.CreateAdd(same, numbers_up_to(fb, fb.lane_count()));
}

Value* shaped(FunctionBuilder& fb, Reg r, Reg like) {
  return fb.varies(like) ? all_lanes(fb, r) : fb.reg(r);
}

}  // namespace rondel::codegen
