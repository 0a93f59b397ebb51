#pragma once
#include "ops/meaning.h"

#include <array>

/// Random numbers without state: the counter-based generator Philox4x32 with ten rounds (Salmon,
/// Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011). Element i of a draw is
/// a function of a 64-bit key and i, so it is the same in every executor, order and thread.
///
/// The key of a node's draw is an operand like any other (op `random_key`), computed from the
/// run's seed, the node and the trip numbers of the loops around it (loops.md section 2). So draws
/// differ from trip to trip, are the same when recomputed, and no pass but key_random_ops knows of
/// them.
namespace rondel::ops {

/// The 128 random bits that `key` gives for the counter (low, high). Operands are u64, words u32.
std::array<Ex, 4> philox(Ex key, Ex low, Ex high);
/// Half `part` (0 or 1) of a block as a u64.
Ex random_u64(const std::array<Ex, 4>& block, std::size_t part);
/// A number of [0, 1) with as many bits as `t` holds below 1, in the type `t` computes in.
Ex unit_interval(DType t, const std::array<Ex, 4>& block, std::size_t part = 0);
/// Element `index` of output 0 as a block; the key is operand `key`.
std::array<Ex, 4> element_block(Emitter&, std::size_t key, const Indices& index);

/// For composites: the key of the node's draw. The node's attribute `seed`, where given, replaces
/// the node's number in the key.
ir::ValueId draw_key(ir::Builder&, const ir::Node&);
/// The default of attribute `seed`, which means that no seed is given.
double no_seed();
/// The dtype that attribute `dtype` asks for, else that of `like`.
DType drawn_dtype(const ir::Attributes&, DType like);

/// For ops (key, low, high, shape?, like?) -> y: y has the dtype of `low` and the shape that
/// `shape` lists or that `like` has.
void draw_rule(ir::TypeContext&);

}  // namespace rondel::ops
