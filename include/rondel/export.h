#pragma once

/// Marks the symbols that librondel exports. All other symbols stay hidden, so that our LLVM and
/// protobuf cannot clash with other copies of them in the same process.
#define RONDEL_API __attribute__((visibility("default")))
