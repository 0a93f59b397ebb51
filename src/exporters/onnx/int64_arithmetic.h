#pragma once
#include "ir/builder.h"

namespace rondel::exporters {

/// Shorthands that write i64 arithmetic on values and numbers. Dividends must not be negative.
class Int64Arithmetic {
 public:
  explicit Int64Arithmetic(ir::Builder& b) : b_(b) {}
  ir::ValueId operator()(std::int64_t v) const { return b_.scalar(v); }
  ir::ValueId add(ir::ValueId x, ir::ValueId y) const { return b_("add", {x, y}); }
  ir::ValueId add(ir::ValueId x, std::int64_t y) const { return add(x, b_.scalar(y)); }
  ir::ValueId sub(ir::ValueId x, ir::ValueId y) const { return b_("sub", {x, y}); }
  ir::ValueId mul(ir::ValueId x, std::int64_t y) const { return b_("mul", {x, b_.scalar(y)}); }
  ir::ValueId div(ir::ValueId x, std::int64_t y) const { return b_("div", {x, b_.scalar(y)}); }
  ir::ValueId mod(ir::ValueId x, std::int64_t y) const { return b_("mod", {x, b_.scalar(y)}); }
  ir::ValueId xor_(ir::ValueId x, ir::ValueId y) const { return b_("bitwise_xor", {x, y}); }
  ir::ValueId less(ir::ValueId x, ir::ValueId y) const { return b_("less", {x, y}); }
  /// 0, 1, ..., n - 1.
  ir::ValueId below(ir::ValueId n) const { return b_("range", {(*this)(0), n, (*this)(1)}); }

 private:
  ir::Builder& b_;
};

}  // namespace rondel::exporters
