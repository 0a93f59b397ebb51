#include "session/shared_constants.h"

#include "base/mapped_file.h"
#include "ir/builder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

namespace rondel::session {
namespace {

constexpr std::int64_t large = 4096;

Tensor ascending(DType dtype, Shape shape) {
  const Tensor t = Tensor::zeros(dtype, std::move(shape));
  auto* bytes = t.data_as<unsigned char>();
  for (std::size_t k = 0; k < static_cast<std::size_t>(t.size()) * byte_size(dtype); ++k)
    bytes[k] = static_cast<unsigned char>(k * 31);
  return t;
}

/// A graph with this constant, after sharing.
ir::Graph graph_of(const Tensor& t) {
  ir::Graph g;
  ir::Builder(g, ir::RegionId::root).constant(t);
  share_constants(g);
  return g;
}

const void* address(const ir::Graph& g) {
  return g.node(static_cast<ir::NodeId>(0)).attributes.tensor("value").data();
}

TEST(SharedConstants, equal_ones_are_held_once) {
  const ir::Graph a = graph_of(ascending(DType::f32, {large}));
  const ir::Graph b = graph_of(ascending(DType::f32, {large}));
  EXPECT_EQ(address(a), address(b));
}

TEST(SharedConstants, others_are_not_mixed_up) {
  const ir::Graph a = graph_of(ascending(DType::f32, {large}));
  for (std::int64_t at : {std::int64_t{0}, std::int64_t{1}, large / 2 + 3, large - 1}) {
    const Tensor other = ascending(DType::f32, {large});
    other.data_as<float>()[at] = -1;
    const ir::Graph b = graph_of(other);
    EXPECT_NE(address(a), address(b)) << "element " << at;
    EXPECT_EQ(b.node(static_cast<ir::NodeId>(0)).attributes.tensor("value").data_as<float>()[at],
              -1);
  }
  EXPECT_NE(address(a), address(graph_of(ascending(DType::i32, {large}))));
  EXPECT_NE(address(a), address(graph_of(ascending(DType::f32, {large / 2, 2}))));
}

TEST(SharedConstants, files_that_are_mapped_stay_as_they_are) {
  char path[] = "/tmp/rondel-constants-XXXXXX";
  const Descriptor file(::mkstemp(path));
  ASSERT_GE(file.get(), 0);
  ::unlink(path);
  const Tensor t = ascending(DType::f32, {large});
  ASSERT_EQ(::write(file.get(), t.data(), 4 * large), 4 * large);
  const auto mapped = std::make_shared<MappedFile>(file.get(), 4 * large);
  const Tensor on_disk(DType::f32, {large}, {1}, mapped->data(), mapped);
  const ir::Graph a = graph_of(on_disk);
  EXPECT_EQ(address(a), mapped->data());
  EXPECT_NE(address(graph_of(ascending(DType::f32, {large}))), mapped->data());
}

TEST(SharedConstants, small_ones_stay_as_they_are) {
  const ir::Graph a = graph_of(ascending(DType::f32, {4})),
                  b = graph_of(ascending(DType::f32, {4}));
  EXPECT_NE(address(a), address(b));
}

TEST(SharedConstants, what_nobody_uses_is_freed) {
  std::weak_ptr<void> owner;
  {
    const Tensor t = ascending(DType::f64, {large});
    owner = t.owner();
    const ir::Graph a = graph_of(t);
    EXPECT_FALSE(owner.expired());
  }
  EXPECT_TRUE(owner.expired());
  // An equal one comes after it, perhaps at the same address.
  const ir::Graph b = graph_of(ascending(DType::f64, {large}));
  EXPECT_EQ(b.node(static_cast<ir::NodeId>(0)).attributes.tensor("value").data_as<char>()[1], 31);
}

TEST(SharedConstants, many_that_are_gone_leave_no_entries_that_are_found) {
  for (int k = 0; k < 500; ++k) {
    const Tensor t = ascending(DType::f32, {large});
    t.data_as<float>()[0] = static_cast<float>(k);
    const ir::Graph g = graph_of(t);
    ASSERT_EQ(address(g), t.data());
  }
}

}  // namespace
}  // namespace rondel::session
