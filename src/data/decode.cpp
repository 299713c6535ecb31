#include <png.h>
#include <turbojpeg.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "data/data.h"
#include "io/file_text.h"
#include "reforward/error.h"

namespace reforward::data {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& why) {
  throw InputError("The image '" + path.string() + "' cannot be decoded (" + why +
                   "); replace it by a whole JPEG or PNG file or take it out.");
}

torch::Tensor planes(const std::vector<uint8_t>& rgb, int64_t height, int64_t width) {
  return torch::from_blob(const_cast<uint8_t*>(rgb.data()), {height, width, 3}, torch::kByte)
      .permute({2, 0, 1})
      .to(torch::kFloat)
      .div_(255.0)
      .contiguous();
}

struct DestroyJpeg {
  void operator()(void* handle) const { ::tjDestroy(handle); }
};

struct FreePng {
  void operator()(png_image* image) const { ::png_image_free(image); }
};

}  // namespace

torch::Tensor decode_jpeg(const std::filesystem::path& path) {
  const std::string bytes = read_file(path);
  const std::unique_ptr<void, DestroyJpeg> handle(::tjInitDecompress());
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  int width = 0, height = 0, subsampling = 0, colours = 0;
  if (::tjDecompressHeader3(handle.get(), data, bytes.size(), &width, &height, &subsampling, &colours) != 0) {
    refuse(path, ::tjGetErrorStr2(handle.get()));
  }
  if (colours == TJCS_CMYK || colours == TJCS_YCCK) refuse(path, "its colours are CMYK, not RGB");
  std::vector<uint8_t> rgb(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3);
  // A truncated file is only a warning to the library, which fills up with grey.
  if (::tjDecompress2(handle.get(), data, bytes.size(), rgb.data(), width, 0, height, TJPF_RGB, TJFLAG_ACCURATEDCT) !=
      0) {
    refuse(path, ::tjGetErrorStr2(handle.get()));
  }
  return planes(rgb, height, width);
}

torch::Tensor decode_png(const std::filesystem::path& path) {
  const std::string bytes = read_file(path);
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, FreePng> free_at_end(&image);
  if (::png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0) refuse(path, image.message);
  image.format = PNG_FORMAT_RGB;   // grey, palette and 16 bits are converted
  const png_color black{0, 0, 0};  // what transparency is laid upon
  std::vector<uint8_t> rgb(PNG_IMAGE_SIZE(image));
  if (::png_image_finish_read(&image, &black, rgb.data(), 0, nullptr) == 0) refuse(path, image.message);
  return planes(rgb, image.height, image.width);
}

}  // namespace reforward::data
