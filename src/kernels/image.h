#pragma once
#include "kernels/unsized_kernel.h"

namespace rondel::kernels {

/// The channels of a decoded image.
enum class Pixels : std::uint8_t { rgb, bgr, grayscale };

/// Decodes input 0, the bytes of a JPEG, PNG or WebP file (u8 [n]), into output 0 (u8 [height,
/// width, channels]). Transparent pixels lie on black; 16-bit channels keep their upper byte; gamma
/// is not corrected. Grey is ITU-R 601's luma. What is no image, or a damaged one, gives [0, 0,
/// channels]. Throws Error(unsupported) for other formats, JPEG in CMYK, animated WebP, and JPEG
/// with more than 100 scans, whose time the size of the image does not bound. A decoder cannot be
/// stopped.
void decode_image(UnsizedCall&, Pixels);

}  // namespace rondel::kernels
