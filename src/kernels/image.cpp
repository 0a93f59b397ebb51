#include "kernels/image.h"

#include "base/error.h"

#include <png.h>
#include <turbojpeg.h>
#include <webp/decode.h>

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

namespace rondel::kernels {
namespace {

using Bytes = std::span<const std::uint8_t>;
/// Allocates height * width * 3 bytes for an image in RGB.
using Allocate = std::function<std::uint8_t*(std::int64_t height, std::int64_t width)>;

// A decoder returns false if the image is damaged.

bool decode_jpeg(Bytes file, const Allocate& allocate) {
  const std::unique_ptr<void, decltype(&tjDestroy)> decoder(tjInitDecompress(), &tjDestroy);
  const auto size = static_cast<unsigned long>(file.size());
  int width = 0, height = 0, subsampling = 0, colours = 0;
  if (!decoder || tjDecompressHeader3(decoder.get(), file.data(), size, &width, &height,
                                      &subsampling, &colours) != 0)
    return false;
  return tjDecompress2(decoder.get(), file.data(), size, allocate(height, width), width, 0, height,
                       TJPF_RGB, 0) == 0;
}

bool decode_png(Bytes file, const Allocate& allocate) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, decltype(&png_image_free)> owned(&image, &png_image_free);
  if (png_image_begin_read_from_memory(&image, file.data(), file.size()) == 0) return false;
  image.format = PNG_FORMAT_RGB;
  const png_color black = {};
  return png_image_finish_read(&image, &black, allocate(image.height, image.width), 0, nullptr) !=
         0;
}

bool decode_webp(Bytes file, const Allocate& allocate) {
  int width = 0, height = 0;
  if (WebPGetInfo(file.data(), file.size(), &width, &height) == 0) return false;
  const int stride = 3 * width;
  return WebPDecodeRGBInto(file.data(), file.size(), allocate(height, width),
                           static_cast<std::size_t>(stride) * static_cast<std::size_t>(height),
                           stride) != nullptr;
}

struct Format {
  const char* name;
  std::string_view begins;
  bool (*decode)(Bytes, const Allocate&);  ///< null: not supported
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

bool decode(Bytes file, const Allocate& allocate) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  for (const Format& format : formats) {
    if (!text.starts_with(format.begins)) continue;
    if (format.decode == nullptr)
      unsupported("the image is a {} file; JPEG, PNG and WebP can be decoded", format.name);
    return format.decode(file, allocate);
  }
  return false;
}

/// Pillow's fixed-point form of 0.299 r + 0.587 g + 0.114 b.
std::uint8_t luma(const std::uint8_t* rgb) {
  return static_cast<std::uint8_t>((rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >>
                                   16);
}

}  // namespace

void decode_image(UnsizedCall& call, Pixels pixels) {
  const bool grey = pixels == Pixels::grayscale;
  const Tensor file = call.packed(0);
  std::optional<Tensor> rgb;
  const bool decoded = decode({file.data_as<std::uint8_t>(), static_cast<std::size_t>(file.size())},
                              [&](std::int64_t height, std::int64_t width) {
                                const Shape shape{height, width, 3};
                                rgb = grey ? call.scratch(DType::u8, shape)
                                           : call.make(0, DType::u8, shape);
                                return rgb->data_as<std::uint8_t>();
                              });
  if (!decoded) {
    call.make(0, DType::u8, {0, 0, grey ? 1 : 3});
    return;
  }
  auto* in = rgb->data_as<std::uint8_t>();
  const std::int64_t height = rgb->shape()[0], width = rgb->shape()[1], count = height * width;
  if (pixels == Pixels::bgr)
    for (std::int64_t i = 0; i < count; ++i) std::swap(in[3 * i], in[3 * i + 2]);
  if (!grey) return;
  auto* out = call.make(0, DType::u8, {height, width, 1}).data_as<std::uint8_t>();
  for (std::int64_t i = 0; i < count; ++i) out[i] = luma(in + 3 * i);
}

}  // namespace rondel::kernels
