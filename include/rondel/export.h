#pragma once

/// Marks what librondel exports; everything else stays hidden, so that our LLVM and protobuf
/// never meet those of another library in the same process.
#define RONDEL_API __attribute__((visibility("default")))
