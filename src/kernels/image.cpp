#include "kernels/image.h"

#include "base/error.h"

#include <spng.h>
#include <turbojpeg.h>
#include <webp/decode.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string_view>

namespace rondel::kernels {
namespace {

using FileBytes = std::span<const std::uint8_t>;
/// Allocates height * width * 4 bytes for an image in RGBA.
using Allocate = std::function<std::uint8_t*(std::int64_t height, std::int64_t width)>;

// A decoder returns false if the image is damaged.

/// The number of scans of a JPEG file, or more.
std::size_t scans(FileBytes file) {
  std::size_t count = 0;
  for (std::size_t i = 1; i < file.size(); ++i)
    count += file[i - 1] == 0xFF && file[i] == 0xDA ? 1 : 0;
  return count;
}

bool decode_jpeg(FileBytes file, const Allocate& allocate) {
  const std::unique_ptr<void, decltype(&tjDestroy)> decoder(tjInitDecompress(), &tjDestroy);
  require(decoder != nullptr, "there is no memory to decode a JPEG image");
  const auto size = static_cast<unsigned long>(file.size());
  int width = 0, height = 0, subsampling = 0, colours = 0;
  if (tjDecompressHeader3(decoder.get(), file.data(), size, &width, &height, &subsampling,
                          &colours) != 0)
    return false;
  if (colours == TJCS_CMYK || colours == TJCS_YCCK) unsupported("the image is a JPEG in CMYK");
  if (scans(file) > 100) unsupported("the image is a JPEG with more than 100 scans");
  if (tjDecompress2(decoder.get(), file.data(), size, allocate(height, width), width, 0, height,
                    TJPF_RGBA, 0) == 0)
    return true;
  const std::string_view said = tjGetErrorStr2(decoder.get());
  return tjGetErrorCode(decoder.get()) == TJERR_WARNING &&
         said.find("remature end") == std::string_view::npos;
}

bool decode_png(FileBytes file, const Allocate& allocate) {
  const std::unique_ptr<spng_ctx, decltype(&spng_ctx_free)> decoder(spng_ctx_new(0),
                                                                    &spng_ctx_free);
  require(decoder != nullptr, "there is no memory to decode a PNG image");
  spng_ihdr header = {};
  std::size_t size = 0;
  if (spng_set_png_buffer(decoder.get(), file.data(), file.size()) != 0 ||
      spng_get_ihdr(decoder.get(), &header) != 0 ||
      spng_decoded_image_size(decoder.get(), SPNG_FMT_RGBA8, &size) != 0)
    return false;
  // Deflate shrinks nothing to less than a 1032nd, and a pixel has a bit or more.
  if (size / 4 / 8 / 1032 > file.size()) return false;
  return spng_decode_image(decoder.get(), allocate(header.height, header.width), size,
                           SPNG_FMT_RGBA8, SPNG_DECODE_TRNS) == 0;
}

bool decode_webp(FileBytes file, const Allocate& allocate) {
  WebPBitstreamFeatures features = {};
  if (WebPGetFeatures(file.data(), file.size(), &features) != VP8_STATUS_OK) return false;
  if (features.has_animation != 0) unsupported("the image is an animated WebP");
  const int stride = 4 * features.width;
  return WebPDecodeRGBAInto(
             file.data(), file.size(), allocate(features.height, features.width),
             static_cast<std::size_t>(stride) * static_cast<std::size_t>(features.height),
             stride) != nullptr;
}

struct Format {
  const char* name;
  std::string_view begins;
  bool (*decode)(FileBytes, const Allocate&);  ///< null: not supported
};

constexpr Format formats[] = {
    {"JPEG", "\xFF\xD8\xFF", decode_jpeg},
    {"PNG", "\x89PNG\r\n\x1A\n", decode_png},
    {"WebP", "RIFF", decode_webp},
    {"BMP", "BM", nullptr},
    {"TIFF", {"II*\0", 4}, nullptr},
    {"TIFF", {"MM\0*", 4}, nullptr},
    {"JPEG 2000", {"\0\0\0\x0CjP  ", 8}, nullptr},
    {"JPEG 2000", "\xFF\x4F\xFF\x51", nullptr},
    {"PNM", "P1", nullptr},
    {"PNM", "P2", nullptr},
    {"PNM", "P3", nullptr},
    {"PNM", "P4", nullptr},
    {"PNM", "P5", nullptr},
    {"PNM", "P6", nullptr},
};

bool decode(FileBytes file, const Allocate& allocate) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  for (const Format& format : formats) {
    if (!text.starts_with(format.begins)) continue;
    if (format.decode == nullptr)
      unsupported("the image is a {} file; JPEG, PNG and WebP can be decoded", format.name);
    return format.decode(file, allocate);
  }
  return false;
}

/// The colour channels of one pixel, on black.
std::array<std::uint8_t, 3> on_black(const std::uint8_t* rgba) {
  std::array<std::uint8_t, 3> rgb;
  for (std::size_t c = 0; c < 3; ++c)
    rgb[c] = static_cast<std::uint8_t>((rgba[c] * rgba[3] + 127) / 255);
  return rgb;
}

/// Pillow's fixed-point form of 0.299 r + 0.587 g + 0.114 b.
std::uint8_t luma(const std::array<std::uint8_t, 3>& rgb) {
  return static_cast<std::uint8_t>((rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >>
                                   16);
}

}  // namespace

void decode_image(UnsizedCall& call, Pixels pixels) {
  const bool grey = pixels == Pixels::grayscale;
  const Tensor file = call.packed(0);
  Tensor rgba, of_decoder;
  const auto allocate = [&](std::int64_t height, std::int64_t width) {
    rgba = call.scratch(DType::u8, {height, width, 4});
    // At most what a decoder allocates: the coefficients of a progressive JPEG, 16-bit, or ARGB.
    of_decoder = call.scratch(DType::u8, {height, width, 6});
    return rgba.data_as<std::uint8_t>();
  };
  const FileBytes bytes(file.data_as<std::uint8_t>(), static_cast<std::size_t>(file.size()));
  if (!decode(bytes, allocate)) {
    call.make(0, DType::u8, {0, 0, grey ? 1 : 3});
    return;
  }
  of_decoder = Tensor();
  const std::int64_t height = rgba.shape()[0], width = rgba.shape()[1];
  const Tensor image = call.make(0, DType::u8, {height, width, grey ? 1 : 3});
  const auto* in = rgba.data_as<std::uint8_t>();
  auto* out = image.data_as<std::uint8_t>();
  for (std::int64_t i = 0; i < height * width; ++i, in += 4) {
    const std::array<std::uint8_t, 3> rgb = on_black(in);
    if (grey) *out++ = luma(rgb);
    else if (pixels == Pixels::rgb) out = std::copy(rgb.begin(), rgb.end(), out);
    else out = std::copy(rgb.rbegin(), rgb.rend(), out);
  }
}

}  // namespace rondel::kernels
