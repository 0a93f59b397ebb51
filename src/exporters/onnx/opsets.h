#pragma once

namespace rondel::exporters {

/// The usual opset, and those that can be asked for.
inline constexpr int usual_opset = 21, oldest_opset = 11;
int newest_opset();

}  // namespace rondel::exporters
