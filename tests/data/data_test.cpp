#include "data/data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>
#include <turbojpeg.h>
#include <zlib.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include "reforward/error.h"

namespace reforward::data {
namespace {

namespace fs = std::filesystem;

class Folders : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "reforward-data-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(folder_); }

  static void write(const fs::path& path, const std::string& bytes) {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
  }
  static void write_png(const fs::path& path, uint32_t format, int width, int height,
                        const std::vector<uint8_t>& pixels) {
    fs::create_directories(path.parent_path());
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    image.width = static_cast<png_uint_32>(width);
    image.height = static_cast<png_uint_32>(height);
    image.format = format;
    ASSERT_NE(::png_image_write_to_file(&image, path.c_str(), 0, pixels.data(), 0, nullptr), 0) << image.message;
  }
  static std::string jpeg(int width, int height, const std::vector<uint8_t>& rgb) {
    unsigned char* bytes = nullptr;
    unsigned long size = 0;
    const auto handle = ::tjInitCompress();
    EXPECT_EQ(::tjCompress2(handle, rgb.data(), width, 0, height, TJPF_RGB, &bytes, &size, TJSAMP_444, 100, 0), 0);
    std::string text(reinterpret_cast<const char*>(bytes), size);
    ::tjFree(bytes);
    ::tjDestroy(handle);
    return text;
  }
  fs::path folder_;
};

TEST_F(Folders, PngPixelsAreExact) {
  write_png(folder_ / "rgb.png", PNG_FORMAT_RGB, 2, 1, {255, 0, 51, 10, 20, 30});
  const auto rgb = decode_png(folder_ / "rgb.png");
  EXPECT_EQ(rgb.sizes(), (std::vector<int64_t>{3, 1, 2}));
  const std::vector<int> expected{255, 10, 0, 20, 51, 30};
  for (int64_t i = 0; i < 6; ++i) {
    EXPECT_FLOAT_EQ(rgb.flatten()[i].item<float>(), static_cast<float>(expected[static_cast<std::size_t>(i)]) / 255.0F);
  }
  write_png(folder_ / "grey.png", PNG_FORMAT_GRAY, 1, 2, {0, 204});
  const auto grey = decode_png(folder_ / "grey.png");
  for (int64_t c = 0; c < 3; ++c) EXPECT_FLOAT_EQ(grey[c][1][0].item<float>(), 0.8F);
  write_png(folder_ / "clear.png", PNG_FORMAT_RGBA, 1, 1, {200, 100, 50, 0});
  EXPECT_EQ(decode_png(folder_ / "clear.png").abs().sum().item<float>(), 0) << "transparent over black";
}

TEST_F(Folders, JpegPixelsAreNear) {
  std::vector<uint8_t> rgb;
  for (int i = 0; i < 16 * 16; ++i) rgb.insert(rgb.end(), {200, 40, 90});
  write(folder_ / "a.jpg", jpeg(16, 16, rgb));
  const auto image = decode_jpeg(folder_ / "a.jpg");
  EXPECT_NEAR(image[0].mean().item<double>(), 200 / 255.0, 0.01);
  EXPECT_NEAR(image[1].mean().item<double>(), 40 / 255.0, 0.01);
  EXPECT_NEAR(image[2].mean().item<double>(), 90 / 255.0, 0.01);
}

TEST_F(Folders, TruncatedImagesAreRefusedByName) {
  std::vector<uint8_t> noise(3 * 64 * 64);
  for (std::size_t i = 0; i < noise.size(); ++i) noise[i] = static_cast<uint8_t>(i * 7919 >> 3);
  const auto whole = jpeg(64, 64, noise);
  for (const std::size_t part : {1UL, 2UL, 3UL}) {
    write(folder_ / "cut.jpg", whole.substr(0, whole.size() * part / 4));
    EXPECT_THAT([&] { decode_jpeg(folder_ / "cut.jpg"); },
                ::testing::ThrowsMessage<InputError>(::testing::HasSubstr("cut.jpg")))
        << part;
  }
  write_png(folder_ / "whole.png", PNG_FORMAT_RGB, 64, 64, noise);
  std::ifstream file(folder_ / "whole.png", std::ios::binary);
  const std::string png((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  write(folder_ / "cut.png", png.substr(0, png.size() / 2));
  EXPECT_THROW(decode_png(folder_ / "cut.png"), InputError);
  write(folder_ / "no.png", "text");
  EXPECT_THROW(decode_png(folder_ / "no.png"), InputError);
}

TEST_F(Folders, ClassesAreSubFoldersByName) {
  write_png(folder_ / "set" / "zebra" / "1.png", PNG_FORMAT_GRAY, 1, 1, {255});
  write_png(folder_ / "set" / "ant" / "1.PNG", PNG_FORMAT_GRAY, 1, 1, {0});
  write_png(folder_ / "set" / "ant" / "2.png", PNG_FORMAT_GRAY, 1, 1, {0});
  write(folder_ / "set" / "ant" / "notes.txt", "not an image");
  const auto images = open_folder(folder_ / "set");
  EXPECT_EQ(images->size(), 3);
  EXPECT_EQ(images->classes(), 2);
  EXPECT_EQ(images->get(0).second, 0);
  EXPECT_EQ(images->get(2).second, 1);
  EXPECT_EQ(images->get(2).first.max().item<float>(), 1.0F);
}

TEST_F(Folders, MissingAndEmptyFoldersAreRefused) {
  EXPECT_THROW(open_folder(folder_ / "none"), InputError);
  EXPECT_THROW(open_folder(folder_), InputError);
  fs::create_directories(folder_ / "class");
  EXPECT_THROW(open_folder(folder_), InputError);
}

class Idx : public Folders {
 protected:
  static void write_gz(const fs::path& path, const std::string& bytes) {
    const auto file = ::gzopen(path.c_str(), "wb");
    ::gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    ::gzclose(file);
  }
  void write_set(const std::string& images, const std::string& labels) {
    write_gz(folder_ / "train-images-idx3-ubyte.gz", images);
    write_gz(folder_ / "train-labels-idx1-ubyte.gz", labels);
  }
  const std::string images_ =
      std::string("\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x02", 16) + "\xff\x33" + std::string("\0\x66", 2);
  const std::string labels_ = std::string("\0\0\x08\x01\0\0\0\x02\x07\x03", 10);
};

TEST_F(Idx, ReadsImagesAndLabels) {
  write_set(images_, labels_);
  const auto set = open_fashion_mnist(folder_);
  EXPECT_EQ(set->size(), 2);
  const auto [image, label] = set->get(0);
  EXPECT_EQ(label, 7);
  EXPECT_EQ(image.sizes(), (std::vector<int64_t>{3, 1, 2}));
  for (int64_t c = 0; c < 3; ++c) EXPECT_FLOAT_EQ(image[c][0][1].item<float>(), 0.2F);
  EXPECT_FLOAT_EQ(set->get(1).first[0][0][1].item<float>(), 0.4F);
}

TEST_F(Idx, DamageIsRefused) {
  EXPECT_THROW(open_fashion_mnist(folder_), InputError) << "no files";
  write_set(images_.substr(0, images_.size() - 1), labels_);
  EXPECT_THROW(open_fashion_mnist(folder_), InputError) << "truncated";
  write_set(labels_, labels_);
  EXPECT_THROW(open_fashion_mnist(folder_), InputError) << "other dimensions";
  write_set(images_, std::string("\0\0\x08\x01\0\0\0\x01\x07", 9));
  EXPECT_THROW(open_fashion_mnist(folder_), InputError) << "fewer labels";
}

TEST(FashionMnist, IsWhole) {
  const auto set = open_fashion_mnist();
  ASSERT_EQ(set->size(), 60000);
  std::map<int64_t, int> counts;
  EXPECT_EQ(set->get(59999).first.sizes(), (std::vector<int64_t>{3, 28, 28}));
  for (int64_t i = 0; i < set->size(); ++i) ++counts[set->get(i).second];
  for (const auto& [label, count] : counts) EXPECT_EQ(count, 6000) << label;
  EXPECT_EQ(counts.size(), 10U);
}

/// Image i is one shade, i / size.
class Shades final : public Images {
 public:
  explicit Shades(int64_t size) : size_(size) {}
  int64_t size() const override { return size_; }
  int64_t classes() const override { return size_; }
  std::pair<torch::Tensor, int64_t> get(int64_t i) const override {
    return {torch::full({3, 5, 9}, static_cast<double>(i) / static_cast<double>(size_)), i};
  }

 private:
  int64_t size_;
};

TEST(Loader, GivesEachImageOnceAnEpochInAnOrderOfItsSeed) {
  const Shades shades(11);
  Loader one(shades, 4, 6, 1), same(shades, 4, 6, 1), other(shades, 4, 6, 2);
  torch::manual_seed(3);
  const auto state = at::globalContext().defaultGenerator(at::kCPU).get_state();
  std::vector<std::vector<int64_t>> epochs(2);
  for (int64_t step = 0; step < 6; ++step) {
    const auto [data, target] = one.batch(step);
    EXPECT_EQ(data.size(0), step % 3 == 2 ? 3 : 4) << "the last batch is smaller";
    EXPECT_EQ(data.sizes().slice(1), (std::vector<int64_t>{3, 6, 6}));
    const auto [again, target_again] = same.batch(step);
    EXPECT_TRUE(torch::equal(data, again) && torch::equal(target, target_again));
    for (int64_t i = 0; i < target.size(0); ++i) {
      epochs[static_cast<std::size_t>(step / 3)].push_back(target[i].item<int64_t>());
      // One shade stays one shade; red is normalised by 0.485 and 0.229.
      const double shade = static_cast<double>(target[i].item<int64_t>()) / 11;
      EXPECT_NEAR(data[i][0].min().item<double>(), (shade - 0.485) / 0.229, 1e-4);
      EXPECT_NEAR(data[i][0].max().item<double>(), (shade - 0.485) / 0.229, 1e-4);
    }
  }
  EXPECT_TRUE(torch::equal(state, at::globalContext().defaultGenerator(at::kCPU).get_state()));
  for (const auto& epoch : epochs) EXPECT_EQ(std::set<int64_t>(epoch.begin(), epoch.end()).size(), 11U);
  EXPECT_NE(epochs[0], epochs[1]);
  EXPECT_FALSE(torch::equal(other.batch(0).second, one.batch(0).second));
}

}  // namespace
}  // namespace reforward::data
