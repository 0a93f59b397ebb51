#pragma once
#include "lowering/storage_plan.h"

namespace rondel::lowering {

/// Proves that the program of a tree works with the storage that a plan gives its values. The proof
/// follows from the definition alone and shares no code with the planner: the verifier goes through
/// the program as it runs, and notes what each storage certainly holds. At each read, the storage
/// must hold the value on every path to it, for all trips; a storage is only used within its
/// lifetime, outside of which its memory belongs to others; and it has room for its values, for all
/// inputs of the class. Throws Error(internal) that names the node, the value and the storage.
void verify_storage(const RegionTree&, const StorageMap&);

}  // namespace rondel::lowering
