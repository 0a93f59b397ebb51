#pragma once
#include "scalar/program.h"

/// Check mode (RONDEL_CHECK=1): programs that check themselves.
namespace rondel::scalar {

/// The same program, with checks of what the interpreter checks and of more, so that native code
/// finds the faults of whoever made the program:
/// - each index of loads, stores, calls and contracts is compared with its extent, except where it
///   is certainly in range;
/// - the extents of a contract's operands must agree;
/// - `fresh` poisons its buffer (base/poison.h), so that a read of what nothing wrote shows in the
///   results;
/// - kernels run between guards, and the bytes behind the result of a contract must stay as they
///   are (scalar/guards.h).
/// A failure is an internal error that names the instruction of `p`. Where no check fails, results
/// are the same bits. Memory behind each parameter that a contract writes must be readable for
/// `tail_bytes`.
std::shared_ptr<const Program> with_checks(const Program& p);

/// Checks the views that a program is about to run on against what `Buffer` says about them: known
/// extents, row-major order, and which buffers overlap. Throws Error(internal).
void check_views(const Program&, const View*);

}  // namespace rondel::scalar
