#include "base/error.h"
#include "kernels/image.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

kernels::Pixels pixels_of(const ir::Attributes& a) {
  const std::string format = a.s("pixel_format", "RGB");
  if (format == "RGB") return kernels::Pixels::rgb;
  if (format == "BGR") return kernels::Pixels::bgr;
  require(format == "Grayscale", "pixel_format is '{}'; expected RGB, BGR or Grayscale", format);
  return kernels::Pixels::grayscale;
}

void image_decoder_rule(ir::TypeContext& c) {
  require_dtype(c, 0, DType::u8);
  require_rank(c, 0, 1);
  const bool grey = pixels_of(c.attributes()) == kernels::Pixels::grayscale;
  c.output(0, ir::Type::tensor(DType::u8, {ir::Extent(), ir::Extent(), ir::Extent(grey ? 1 : 3)}));
}

kernels::UnsizedKernel prepare_image_decoder(const ir::Node& node, std::span<const ir::Type>) {
  return [pixels = pixels_of(node.attributes)](kernels::UnsizedCall& call) {
    kernels::decode_image(call, pixels);
  };
}

const ir::OpEntry image_decoder{{
    .name = "image_decoder",
    .doc = "image = the pixels of an encoded image, [height, width, channels]",
    .inputs = {{"encoded_stream"}},
    .outputs = {"image"},
    .attributes = {{"pixel_format", "RGB"}},
    .type = image_decoder_rule,
    .meaning = unsized_kernel(prepare_image_decoder),
    .can_fail = true,
}};

}  // namespace
}  // namespace rondel::ops
