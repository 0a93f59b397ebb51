#pragma once
#include "passes/remarks.h"

namespace rondel::passes {

/// Products with weights of what a loop only scans: one call for all trips, before the loop, reads
/// the weights once. The loop scans its results instead. A node moves if all of these hold:
///  - The scans alone end the loop.
///  - The node is costly, has a batch rule, draws no random numbers and cannot fail.
///  - It multiplies a value that only depends on the elements of one scan by a tensor from outside
///    the loop that has 256 elements or more.
///  - The results of all trips, and the values on the way to them, are bounded: `most_bytes`, or
///    `most_growth` times the elements of the scan.
///  - The loop is in no other loop, unless its extents are numbers: no extent becomes known late.
/// Results have the same bits: a product adds in the same order for one row and for many.
bool batch_before_loop(ir::Graph&, Remarks* = nullptr);

}  // namespace rondel::passes
