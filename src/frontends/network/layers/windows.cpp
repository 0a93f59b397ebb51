#include "frontends/network/layers/windows.h"

#include "base/error.h"

namespace rondel::network {
namespace {

/// A parameter with one value per axis of the window.
ir::Ints per_axis(Lowering& l, const char* name, const char* what, std::size_t axes,
                  std::int64_t otherwise) {
  const ir::Ints given = l.parameters().ints(name, ir::Ints(axes, otherwise));
  require(given.size() == axes, "the {} has {} axes and the window {}", what, given.size(), axes);
  return given;
}

}  // namespace

ir::Ints window_of(Lowering& l, const char* parameter) {
  const ir::Ints window = l.parameters().ints(parameter);
  require(!window.empty(), "the window has no axes");
  require(l.rank(l.in(0)) == std::ssize(window) + 2,
          "a window of {} axes over {}; expected batch, channels and the window's axes",
          window.size(), to_text(l.type(l.in(0))));
  return window;
}

ir::Attributes window_attributes(Lowering& l, const ir::Ints& window) {
  const std::size_t axes = window.size();
  ir::Attributes a;
  a.set("strides", per_axis(l, "stride", "stride", axes, 1));
  a.set("dilations", per_axis(l, "dilation", "dilation", axes, 1));
  switch (l.choice<PaddingMode>("padding_mode")) {
    case PaddingMode::kSAME_UPPER: a.set("auto_pad", std::string("SAME_UPPER")); return a;
    case PaddingMode::kSAME_LOWER: a.set("auto_pad", std::string("SAME_LOWER")); return a;
    default: break;
  }
  ir::Ints pads = per_axis(l, "pre_padding", "pre-padding", axes, 0);
  const ir::Ints post = per_axis(l, "post_padding", "post-padding", axes, 0);
  pads.insert(pads.end(), post.begin(), post.end());
  a.set("pads", std::move(pads));
  return a;
}

Dims window_dims(const ILayer& layer, const char* name, const char* window,
                 std::int64_t otherwise) {
  const ir::Attributes& a = layer.data().parameters;
  return dims_of(a.ints(name, ir::Ints(a.ints(window).size(), otherwise)));
}

void round_up(ir::Attributes& a) {
  ir::Ints pads = a.ints("pads");
  const ir::Ints strides = a.ints("strides");
  for (std::size_t i = 0; i < strides.size(); ++i) pads[strides.size() + i] += strides[i] - 1;
  a.set("pads", std::move(pads));
}

}  // namespace rondel::network
