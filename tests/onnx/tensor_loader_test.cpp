#include "frontends/onnx/tensor_loader.h"

#include "models.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace rondel::onnx {
namespace {

using ::testing::HasSubstr;
using TP = pb::TensorProto;

pb::TensorProto proto(TP::DataType type, std::vector<std::int64_t> dims) {
  pb::TensorProto t;
  t.set_name("w");
  t.set_data_type(type);
  for (const std::int64_t d : dims) t.add_dims(d);
  return t;
}

Tensor read(const pb::TensorProto& t) { return TensorLoader({}).tensor(t, "w"); }
std::string error(const pb::TensorProto& t) {
  return error_of([&] { read(t); });
}
template <class T> std::vector<T> elements(const Tensor& t) {
  return {t.data_as<T>(), t.data_as<T>() + t.size()};
}

TEST(TensorLoader, ReadsRawData) {
  auto t = proto(TP::FLOAT, {2});
  const float values[] = {1.5F, -2};
  t.set_raw_data(values, sizeof values);
  EXPECT_EQ(elements<float>(read(t)), (std::vector<float>{1.5F, -2}));
}

TEST(TensorLoader, ReadsTypedFields) {
  auto ints = proto(TP::INT8, {2});
  ints.add_int32_data(-128);
  ints.add_int32_data(127);
  EXPECT_EQ(elements<std::int8_t>(read(ints)), (std::vector<std::int8_t>{-128, 127}));
  auto half = proto(TP::FLOAT16, {1});
  half.add_int32_data(0xfc00);
  EXPECT_EQ(elements<std::uint16_t>(read(half))[0], 0xfc00);
  auto wide = proto(TP::UINT32, {1});
  wide.add_uint64_data(0xffffffffU);
  EXPECT_EQ(elements<std::uint32_t>(read(wide))[0], 0xffffffffU);
  auto complex = proto(TP::COMPLEX64, {1});
  complex.add_float_data(1);
  complex.add_float_data(2);
  EXPECT_EQ(read(complex).data_as<float>()[1], 2);
  auto text = proto(TP::STRING, {2});
  text.add_string_data("a");
  text.add_string_data(std::string("b\0c", 3));
  EXPECT_EQ(elements<std::string>(read(text))[1], std::string("b\0c", 3));
  auto flag = proto(TP::BOOL, {2});
  flag.set_raw_data(std::string("\x02\x00", 2));
  EXPECT_EQ(elements<std::uint8_t>(read(flag)), (std::vector<std::uint8_t>{1, 0}));
}

TEST(TensorLoader, UnpacksFourAndTwoBits) {
  auto four = proto(TP::INT4, {3});
  four.set_raw_data(std::string("\x8f\x07", 2));
  EXPECT_EQ(elements<std::int8_t>(read(four)), (std::vector<std::int8_t>{-1, -8, 7}));
  auto typed = proto(TP::UINT4, {3});
  typed.add_int32_data(0x8f);
  typed.add_int32_data(0x07);
  EXPECT_EQ(elements<std::uint8_t>(read(typed)), (std::vector<std::uint8_t>{15, 8, 7}));
  auto two = proto(TP::INT2, {5});
  two.set_raw_data(std::string("\xe4\x01", 2));
  EXPECT_EQ(elements<std::int8_t>(read(two)), (std::vector<std::int8_t>{0, 1, -2, -1, 1}));
}

TEST(TensorLoader, BytesPresentAreBytesNeeded) {
  auto t = proto(TP::FLOAT, {1000000});
  t.set_raw_data("abcd", 4);
  EXPECT_THAT(error(t), HasSubstr("takes 4000000 bytes; it has 4"));
  auto typed = proto(TP::FLOAT, {3});
  typed.add_float_data(1);
  EXPECT_THAT(error(typed), HasSubstr("takes 3 values; it has 1"));
  EXPECT_THAT(error(proto(TP::FLOAT, {1})), HasSubstr("it has 0"));
  EXPECT_EQ(read(proto(TP::FLOAT, {0, 5})).shape(), (Shape{0, 5}));
}

TEST(TensorLoader, RefusesImpossibleShapesAndTypes) {
  EXPECT_THAT(error(proto(TP::FLOAT, {-1})), HasSubstr("negative extent"));
  EXPECT_THAT(error(proto(TP::FLOAT, {INT64_MAX, 4})), HasSubstr("does not fit into 64 bits"));
  EXPECT_THAT(error(proto(TP::DOUBLE, {INT64_MAX / 2})), HasSubstr("does not fit into 64 bits"));
  auto none = proto(TP::FLOAT, {1});
  none.set_data_type(0);
  EXPECT_THAT(error(none), HasSubstr("0 is not an element type"));
  none.set_data_type(99);
  EXPECT_THAT(error(none), HasSubstr("99 is not an element type"));
  auto wrong = proto(TP::INT8, {1});
  wrong.add_int32_data(300);
  EXPECT_THAT(error(wrong), HasSubstr("300 does not fit i8"));
  auto both = proto(TP::FLOAT, {1});
  both.add_float_data(1);
  both.set_raw_data("abcd", 4);
  EXPECT_THAT(error(both), HasSubstr("raw data and typed data"));
  auto other = proto(TP::FLOAT, {1});
  other.add_int64_data(1);
  EXPECT_THAT(error(other), HasSubstr("data of another type"));
}

TEST(TensorLoader, SparseTensorsBecomeDense) {
  pb::SparseTensorProto s;
  *s.mutable_values() = proto(TP::FLOAT, {2});
  s.mutable_values()->add_float_data(5);
  s.mutable_values()->add_float_data(6);
  *s.mutable_indices() = proto(TP::INT64, {2, 2});
  for (const int i : {0, 1, 1, 0}) s.mutable_indices()->add_int64_data(i);
  s.add_dims(2);
  s.add_dims(2);
  EXPECT_EQ(elements<float>(TensorLoader({}).sparse(s, "s")), (std::vector<float>{0, 5, 6, 0}));
  s.mutable_indices()->set_int64_data(2, 2);
  EXPECT_THAT(error_of([&] { TensorLoader({}).sparse(s, "s"); }), HasSubstr("index 2 on axis 0"));
  s.mutable_indices()->set_int64_data(2, 0);
  EXPECT_THAT(error_of([&] { TensorLoader({}).sparse(s, "s"); }), HasSubstr("must ascend"));
  s.set_dims(0, std::int64_t{1} << 40);
  EXPECT_THAT(error_of([&] { TensorLoader({}).sparse(s, "s"); }, Blame::limit),
              HasSubstr("when dense"));
}

class ExternalData : public ::testing::Test {
 protected:
  void SetUp() override {
    base_ = std::filesystem::path(::testing::TempDir()) /
            ("rondel_external_" + std::to_string(::getpid()));
    std::filesystem::remove_all(base_);
    std::filesystem::create_directories(base_ / "model" / "sub");
    for (const char* file : {"secret.bin", "model/data.bin", "model/sub/data.bin"}) {
      const float values[] = {1, 2, 3, 4};
      std::ofstream(base_ / file, std::ios::binary)
          .write(reinterpret_cast<const char*>(values), sizeof values);
    }
  }
  void TearDown() override { std::filesystem::remove_all(base_); }

  static pb::TensorProto at(std::vector<std::pair<std::string, std::string>> keys,
                            std::int64_t n = 4) {
    auto t = proto(TP::FLOAT, {n});
    t.set_data_location(TP::EXTERNAL);
    for (const auto& [key, value] : keys) {
      auto* entry = t.add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    return t;
  }
  Tensor read(const pb::TensorProto& t, bool given = false) {
    return TensorLoader(DataFolder(base_ / "model", given)).tensor(t, "w");
  }
  std::string error(const pb::TensorProto& t, bool given = false) {
    return error_of([&] { read(t, given); });
  }
  std::filesystem::path base_;
};

TEST_F(ExternalData, IsReadFromTheModelsFolder) {
  EXPECT_EQ(elements<float>(read(at({{"location", "data.bin"}})))[3], 4);
  EXPECT_EQ(elements<float>(read(at({{"location", "sub/./data.bin"}})))[3], 4);
  EXPECT_EQ(
      elements<float>(read(at({{"location", "data.bin"}, {"offset", "4"}, {"length", "8"}}, 2))),
      (std::vector<float>{2, 3}));
}

TEST_F(ExternalData, OnlyFromThere) {
  EXPECT_THAT(error(at({{"location", "../secret.bin"}})), HasSubstr("leads out"));
  EXPECT_THAT(error(at({{"location", "sub/../../secret.bin"}})), HasSubstr("leads out"));
  EXPECT_THAT(error(at({{"location", (base_ / "secret.bin").string()}})), HasSubstr("absolute"));
  std::filesystem::create_symlink(base_ / "secret.bin", base_ / "model" / "link.bin");
  EXPECT_THAT(error(at({{"location", "link.bin"}})), HasSubstr("external_data_dir"));
  std::filesystem::create_directory_symlink(base_, base_ / "model" / "up");
  EXPECT_NE(error(at({{"location", "up/secret.bin"}})), "");
  std::filesystem::create_hard_link(base_ / "secret.bin", base_ / "model" / "hard.bin");
  EXPECT_THAT(error(at({{"location", "hard.bin"}})), HasSubstr("hard links"));
  EXPECT_THAT(error(at({{"location", "sub"}})), HasSubstr("not a regular file"));
  EXPECT_THAT(error(at({{"location", "none.bin"}})), HasSubstr("cannot open"));
}

TEST_F(ExternalData, AFolderThatIsGivenMayHoldLinks) {
  std::filesystem::create_symlink(base_ / "secret.bin", base_ / "model" / "link.bin");
  EXPECT_EQ(elements<float>(read(at({{"location", "link.bin"}}), true))[0], 1);
  EXPECT_THAT(error(at({{"location", "../secret.bin"}}), true), HasSubstr("leads out"));
}

TEST_F(ExternalData, KeysAndSpansAreChecked) {
  EXPECT_THAT(error(at({{"location", "data.bin"}, {"magic", "1"}})),
              HasSubstr("unknown key 'magic'"));
  EXPECT_THAT(error(at({{"offset", "0"}})), HasSubstr("without a location"));
  EXPECT_THAT(error(at({{"location", "data.bin"}, {"offset", "-4"}})), HasSubstr("offset '-4'"));
  EXPECT_THAT(error(at({{"location", "data.bin"}, {"length", "15"}})),
              HasSubstr("its length is 15"));
  EXPECT_THAT(error(at({{"location", "data.bin"}, {"offset", "4"}})), HasSubstr("which has 16"));
  EXPECT_THAT(error(at({{"location", "data.bin"}, {"offset", "18446744073709551615"}})),
              HasSubstr("which has 16"));
  EXPECT_THAT(error_of([&] {
                TensorLoader({}).tensor(at({{"location", "data.bin"}}), "w");
              }),
              HasSubstr("external_data_dir"));
}

}  // namespace
}  // namespace rondel::onnx
