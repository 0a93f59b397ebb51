#include <rondel/error.h>

#include "scalar/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

/// A well-formed program, and one way to spoil it for each rule.
namespace rondel::scalar {
namespace {

/// Every kind of block and most kinds of instruction.
Program good() {
  Builder b("good");
  const auto x = b.buffer({"x", DType::f32, Access::in, {-1, 4}});
  const auto y = b.buffer({"y", DType::f32, Access::out, {-1, 4}});
  const auto l = b.local("l", DType::f32, {4}), dot = b.local("dot", DType::f32, {});
  const Ex n = b.param();
  b.for_(b.index(0), b.extent(x, 0), {n, b.constant(DType::f32, 0.0)},
         [&](Ex i, std::span<const Ex> c) {
           b.store(l, {b.index(1)}, b.load(x, {i, b.index(2)}) + c[1]);
           const auto merged = b.if_(
               i < c[0], [&] { return std::vector<Ex>{fma(c[1], c[1], c[1])}; },
               [&] { return std::vector<Ex>{cast(DType::f32, i)}; });
           b.check(i != n, "{}", {i});
           b.store(y, {i, b.index(3)},
                   select(i == n, merged[0], bitcast(DType::f32, b.constant(DType::u32, 1.0))));
           return std::vector<Ex>{c[0] + 1, merged[0]};
         });
  b.for_while(n, n + 5, {}, [&](Ex i, std::span<const Ex>) { return std::vector<Ex>{i < 3}; });
  b.for_each(n, n + 5, [&](Ex) {});
  b.contract({.a = x, .b = l, .c = dot, .a_leading = 1, .a_vector = true, .b_vector = true}, {n});
  return *b.finish();
}

std::string fault(const Program& p) {
  try {
    verify(p);
  } catch (const Error& e) {
    EXPECT_EQ(e.blame(), Blame::internal);
    return e.what();
  }
  return "";
}

/// The nth instruction with this op.
Inst& find(Program& p, Op op, int nth = 0) {
  for (Inst& i : p.code)
    if (i.op == op && nth-- == 0) return i;
  throw std::logic_error("no such instruction");
}

Reg& operand(Program& p, const Inst& i, std::uint32_t k) { return p.regs[i.operand_begin + k]; }
Reg& result(Program& p, const Inst& i, std::uint32_t k) { return p.regs[i.result_begin + k]; }

Reg of_type(const Program& p, DType t) {
  for (const Inst& i : p.code)
    if (i.op == Op::constant && i.type == t) return p.results(i)[0];
  throw std::logic_error("no such constant");
}

struct Spoiled {
  const char* what;
  std::function<void(Program&)> spoil;
  const char* message;
};

const Spoiled spoiled[] = {
    {"unknown_register", [](Program& p) { operand(p, find(p, Op::add), 0) = 999; },
     "register %999 does not exist"},
    {"written_twice",
     [](Program& p) { result(p, find(p, Op::add), 0) = p.results(find(p, Op::load))[0]; },
     "is written twice"},
    {"read_before_written",
     [](Program& p) { operand(p, find(p, Op::add), 0) = p.results(find(p, Op::fma))[0]; },
     "is read before it is written"},
    {"read_outside_its_block",
     [](Program& p) { operand(p, find(p, Op::contract), 0) = p.results(find(p, Op::for_))[0]; },
     "is read outside its block"},
    {"read_in_the_other_branch",
     [](Program& p) { operand(p, find(p, Op::cast), 0) = p.results(find(p, Op::fma))[0]; },
     "is read outside its block"},
    {"pool", [](Program& p) { find(p, Op::add).operand_begin = 100000; }, "outside the pool"},
    {"type_of_an_operation", [](Program& p) { find(p, Op::fma).type = DType::i32; },
     "fma is not for i32"},
    {"type_of_an_operand",
     [](Program& p) { operand(p, find(p, Op::add), 0) = of_type(p, DType::i64); },
     "is i64, not f32"},
    {"type_of_a_result",
     [](Program& p) {
       p.reg_types[static_cast<std::size_t>(p.results(find(p, Op::add))[0])] = DType::f64;
     },
     "its result"},
    {"operand_count", [](Program& p) { find(p, Op::fma).operand_count = 2; }, "2 operands, not 3"},
    {"result_count", [](Program& p) { find(p, Op::fma).result_count = 0; }, "0 results, not 1"},
    {"param", [](Program& p) { find(p, Op::param).id = 1; }, "parameter 1 of 1"},
    {"extent_axis", [](Program& p) { find(p, Op::extent).imm = 2; }, "axis 2 of x, rank 2"},
    {"select_condition",
     [](Program& p) { operand(p, find(p, Op::select), 0) = of_type(p, DType::i64); },
     "is i64, not bool"},
    {"cast", [](Program& p) { find(p, Op::cast).type = DType::f16; }, "no cast from i64 to f16"},
    {"bitcast", [](Program& p) { find(p, Op::bitcast).type = DType::f64; },
     "no bitcast from u32 to f64"},
    {"buffer", [](Program& p) { find(p, Op::load).id = 9; }, "no buffer 9"},
    {"index_count", [](Program& p) { find(p, Op::load).operand_count = 1; }, "1 operands, not 2"},
    {"index_type", [](Program& p) { operand(p, find(p, Op::load), 0) = of_type(p, DType::u32); },
     "is u32, not i64"},
    {"element_type", [](Program& p) { p.buffers[0].dtype = DType::i32; }, "x holds i32"},
    {"store_to_input", [](Program& p) { p.buffers[1].access = Access::in; }, "y is only read"},
    {"parameter_after_local",
     [](Program& p) {
       p.buffers.push_back({"z", DType::f32, Access::in, {}});
     },
     "parameter z comes after a local"},
    {"local_extent", [](Program& p) { p.buffers[2].extents[0] = -1; },
     "local l has an unknown extent"},
    {"local_strides", [](Program& p) { p.buffers[2].contiguous = false; }, "local l is strided"},
    {"local_strings", [](Program& p) { p.buffers[2].dtype = DType::string; },
     "local l holds strings"},
    {"alias", [](Program& p) { p.buffers[1].may_alias = 2; }, "y cannot alias buffer 2"},
    {"loop_bounds", [](Program& p) { operand(p, find(p, Op::for_), 1) = of_type(p, DType::f32); },
     "is f32, not i64"},
    {"loop_results", [](Program& p) { find(p, Op::for_).result_count = 2; },
     "2 inits and 2 results"},
    {"carried_type",
     [](Program& p) { operand(p, find(p, Op::end_for), 1) = p.results(find(p, Op::for_))[0]; },
     "is i64"},
    {"carried_count", [](Program& p) { find(p, Op::end_for).operand_count = 1; },
     "1 values for 2 carried"},
    {"condition_type",
     [](Program& p) {
       operand(p, find(p, Op::end_for, 1), 0) = p.results(find(p, Op::for_, 1))[0];
     },
     "is i64, not bool"},
    {"loop_jump", [](Program& p) { find(p, Op::for_).jump = 1; }, "jumps to 1"},
    {"loop_ends_elsewhere", [](Program& p) { find(p, Op::end_for).jump = 0; }, "do not meet"},
    {"parallel_with_carried", [](Program& p) { find(p, Op::for_).flags = parallel; },
     "a parallel loop carries"},
    {"loop_without_end",
     [](Program& p) {
       p.code.pop_back();
       while (p.code.back().op != Op::for_) p.code.pop_back();
       find(p, Op::for_, 2).jump = 0;
     },
     "jumps to 0"},
    {"end_without_loop", [](Program& p) { p.code.push_back(find(p, Op::end_for, 2)); },
     "ends no loop"},
    {"else_without_if",
     [](Program& p) {
       Inst i{};
       i.op = Op::else_;
       p.code.push_back(i);
     },
     "belongs to no if"},
    {"end_if_without_if",
     [](Program& p) {
       Inst i{};
       i.op = Op::end_if;
       p.code.push_back(i);
     },
     "ends no if"},
    {"if_condition", [](Program& p) { operand(p, find(p, Op::if_), 0) = of_type(p, DType::i64); },
     "is i64, not bool"},
    {"yield_count", [](Program& p) { find(p, Op::end_if).operand_count = 0; }, "1 and 0 yields"},
    {"yield_type", [](Program& p) { operand(p, find(p, Op::end_if), 0) = of_type(p, DType::i64); },
     "is i64"},
    {"site", [](Program& p) { find(p, Op::check).id = 5; }, "no site 5"},
    {"shown_type", [](Program& p) { operand(p, find(p, Op::check), 1) = of_type(p, DType::f32); },
     "is f32, not i64"},
    {"call",
     [](Program& p) {
       Inst i{};
       i.op = Op::call;
       i.id = 3;
       p.code.push_back(i);
     },
     "no call 3"},
    {"call_without_function",
     [](Program& p) {
       p.calls.push_back({"f", nullptr, nullptr, {}});
       Inst i{};
       i.op = Op::call;
       i.id = 0;
       p.code.push_back(i);
     },
     "call f has no function"},
    {"contract", [](Program& p) { find(p, Op::contract).id = 1; }, "no contract 1"},
    {"contract_rank", [](Program& p) { p.contracts[0].a_vector = false; },
     "x has 1 axes left, not 2"},
    {"contract_type", [](Program& p) { p.buffers[3].dtype = DType::i32; }, "f32 * f32 into i32"},
};

class Verifier : public testing::TestWithParam<Spoiled> {};

TEST_P(Verifier, names_the_fault) {
  Program p = good();
  GetParam().spoil(p);
  EXPECT_THAT(fault(p), testing::AllOf(testing::StartsWith("scalar program good: instruction "),
                                       testing::HasSubstr(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(Rules, Verifier, testing::ValuesIn(spoiled),
                         [](const auto& info) { return std::string(info.param.what); });

TEST(VerifierAccepts, the_good_program) { EXPECT_EQ(fault(good()), ""); }

}  // namespace
}  // namespace rondel::scalar
