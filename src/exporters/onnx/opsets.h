#pragma once

namespace rondel::exporters {

/// The default opset, and the range of opsets that a caller can ask for.
inline constexpr int usual_opset = 21, oldest_opset = 11;
int newest_opset();

}  // namespace rondel::exporters
