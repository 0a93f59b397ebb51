#pragma once
#include "passes/remarks.h"

namespace rondel::passes {

/// Turns conditions that only count into trip counts. The body's condition is a conjunction; a part
/// of it that compares a linear function of the trip index (`linear_forms`) with an integer that
/// the loop does not change becomes a trip count, computed before the loop:
///  - The comparison is <, <=, >, >= or "not equal", and the function steps towards the bound.
///  - The count is exact for all values of the bound and of the first value, with wrap-around. A
///    step other than 1 and -1 counts only if no value can wrap around.
///  - A comparison that stays true for 2^63 - 1 trips or more counts as 2^63 - 1 trips.
///  - In a loop in another loop that has a trip count already, the integers come from outside of
///    both: a count that is known before the outer loop stays known.
/// The rest of the condition stays. If there is none, the loop needs no condition: the initial one
/// is true, or makes the same comparison for the trip before the first, or the count is 0 where it
/// is false. (In another loop it stays then, and the body hands it on.) States must have been
/// simplified (`simplify_states`), and types inferred. Values that are unread afterwards are left
/// for `remove_dead`.
bool count_trips(ir::Graph&, Remarks* = nullptr);

}  // namespace rondel::passes
