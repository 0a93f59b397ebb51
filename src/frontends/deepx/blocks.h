#pragma once
#include "frontends/deepx/program.h"
#include "frontends/deepx/statement.h"

#include <functional>
#include <span>
#include <string_view>

namespace rondel::deepx {

/// A kind of block: `loop` or `while`.
struct BlockRow {
  std::string_view name, usage, doc;
};
std::span<const BlockRow> block_rows();
bool is_block_name(std::string_view);

/// Appends one line of a block.
using AppendLine = std::function<void(Scope&, const Statement&)>;
/// Appends a block, whose name must satisfy `is_block_name`. Throws Error(caller) with a position.
void append_block(Program&, Scope&, const Statement&, const AppendLine&);

}  // namespace rondel::deepx
