#pragma once
#include "ops/meaning.h"

#include <array>

/// Random numbers without state: the counter-based generator Philox4x32 with ten rounds (Salmon,
/// Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011). Element i of a draw is
/// a function of a 64-bit key and i, so it is the same in every executor, order and thread.
///
/// The key of a node's draw is an ordinary operand (op `random_key`), computed from the seed of the
/// run, the node and the trip numbers of the loops around it (docs/loops.md section 2). So draws
/// differ from trip to trip and are the same when they are recomputed, and key_random_ops is the
/// only pass that needs to know of random numbers.
namespace rondel::ops {

/// The 128 random bits (four u32 words, a block) for `key` and the counter (low, high), all u64.
std::array<Ex, 4> philox(Ex key, Ex low, Ex high);
/// Half of a block, the first (`part` 0) or the second (`part` 1), as a u64.
Ex random_u64(const std::array<Ex, 4>& block, std::size_t part);
/// A number in [0, 1) with as many random bits as `t` has significand bits, in the type that
/// arithmetic on `t` uses.
Ex unit_interval(DType t, const std::array<Ex, 4>& block, std::size_t part = 0);
/// The block for element `index` of output 0; the key is operand `key`.
std::array<Ex, 4> element_block(Emitter&, std::size_t key, const Indices& index);

/// For composites: the key of the node's draw. The attribute `seed` of the node, if given, replaces
/// the number of the node in the key.
ir::ValueId draw_key(ir::Builder&, const ir::Node&);
/// The default of the attribute `seed`, which means that no seed is given (NaN).
double no_seed();
/// The dtype in the attribute `dtype` if it is given, else `like`.
DType drawn_dtype(const ir::Attributes&, DType like);

/// The type rule of ops (key, low, high, shape?, like?) -> y. y has the dtype of `low`, and the
/// shape that `shape` lists or the shape of `like`.
void draw_rule(ir::TypeContext&);

}  // namespace rondel::ops
