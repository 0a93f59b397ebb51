#pragma once
#include "scalar/program.h"

#include <cstring>

/// The decoded form of a program: steps with resolved operands, and the frame of one run.
namespace rondel::scalar {

/// A buffer bound to a run. Strides are in elements.
struct BoundBuffer {
  char* data;
  const std::int64_t* extents;
  const std::int64_t* strides;
};

struct Step;

/// The state of one run. A register is a slot of 16 bytes, identified by its byte offset.
struct Frame {
  char* slots;
  char* scratch;  ///< room for the largest set of moves
  const BoundBuffer* buffers;
  const std::int64_t* params;
  Context* context;
  const std::atomic<std::int32_t>* stop;  ///< never null
  const Program* program;
  Status status;
};

inline constexpr std::uint32_t slot_size = 16;

/// Executes a step and returns the next one; null ends the run with the frame's status.
using Handler = const Step* (*)(Frame&, const Step&);

/// A copy of a register.
struct Move {
  std::uint32_t from, to;
};

/// Data of a step beyond its four slots.
struct StepDetail {
  std::vector<std::uint32_t> operands;  ///< slots
  std::vector<Move> enter;  ///< into a loop: inits to carried; out of a branch: yields to merged
  std::vector<Move> skip;   ///< past a loop with no trips: inits to finals
  std::vector<Move> next;   ///< to the next trip: nexts to carried
  std::vector<Move> exit;   ///< out of a loop: nexts to finals
  bool swaps = false;       ///< `next` reads slots that it writes
};

struct Step {
  Handler run = nullptr;
  std::uint32_t out = 0, a = 0, b = 0, c = 0;
  std::int32_t id = -1;
  std::uint8_t flags = 0;
  std::int64_t imm = 0;
  const Step* target = nullptr;
  const StepDetail* detail = nullptr;
  std::size_t at = 0;  ///< index of the instruction, for messages
};

template <class T> T get(const Frame& f, std::uint32_t slot) {
  T value;
  std::memcpy(&value, f.slots + slot, sizeof(T));
  return value;
}
template <class T> void set(Frame& f, std::uint32_t slot, T value) {
  std::memcpy(f.slots + slot, &value, sizeof(T));
}

/// The handlers of arithmetic, casts, memory accesses, and control flow (blocks, checks, calls).
Handler arithmetic_handler(const Inst&);
Handler cast_handler(DType from, DType to);
Handler memory_handler(Op, DType, std::int64_t rank);
Handler control_handler(const Inst&, const StepDetail&);

}  // namespace rondel::scalar
