#pragma once
#include "kernels/unsized_kernel.h"

namespace rondel::kernels {

/// The channels of a decoded image.
enum class Pixels : std::uint8_t { rgb, bgr, grayscale };

/// Decodes input 0, the bytes of a JPEG, PNG or WebP file (u8 [n]), into output 0 (u8 [height,
/// width, channels]). Transparent pixels lie on black. Grey is ITU-R 601's luma. What is no image,
/// or a damaged one, gives [0, 0, channels]; an image in another format is an Error(unsupported).
void decode_image(UnsizedCall&, Pixels);

}  // namespace rondel::kernels
