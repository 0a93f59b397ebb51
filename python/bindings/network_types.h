// Conversions of the network builder's small structs: Dims and Permutation to tuples (None: no
// extents set), Weights to a data type, a tensor of the bytes and a number of elements.
#pragma once
#include "bindings.h"

#include <rondel/network.h>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <vector>

namespace rondel::python {

/// Elements owned by Python; the engine copies them.
using PyWeights = std::tuple<network::DataType, Value, std::int64_t>;

inline network::Weights weights_of(const PyWeights& w) {
  const auto& [type, value, count] = w;
  return {type, value.is_tensor() ? value.tensor().data() : nullptr, count};
}

/// A copy as an array, in which 2- and 4-bit elements are not packed.
inline nanobind::object numpy_of(const network::Weights& w) {
  Tensor t(network::dtype(w.type), {w.count});
  if (w.count > 0) {
    // The engine stores these elements in the layout of a tensor, so a view can read them.
    const Tensor view(t.dtype(), {w.count}, {1}, const_cast<void*>(w.values), nullptr);
    t.assign(view);
  }
  return to_python(t);
}

}  // namespace rondel::python

namespace nanobind::detail {

template <> struct type_caster<rondel::network::Dims> {
  NB_TYPE_CASTER(rondel::network::Dims, const_name("tuple"))

  bool from_python(handle source, std::uint8_t flags, cleanup_list* cleanup) noexcept {
    make_caster<std::vector<std::int64_t>> extents;
    if (!extents.from_python(source, flags, cleanup)) return false;
    if (extents.value.size() > rondel::network::Dims::MAX_DIMS) return false;
    value.nbDims = static_cast<std::int32_t>(extents.value.size());
    std::copy(extents.value.begin(), extents.value.end(), value.d);
    return true;
  }

  static handle from_cpp(const rondel::network::Dims& dims, rv_policy, cleanup_list*) noexcept {
    if (dims.nbDims < 0) return none().release();
    list extents;
    for (std::int32_t k = 0; k < dims.nbDims; ++k) extents.append(dims.d[k]);
    return nanobind::tuple(extents).release();
  }
};

template <> struct type_caster<rondel::network::Permutation> {
  NB_TYPE_CASTER(rondel::network::Permutation, const_name("tuple"))

  bool from_python(handle source, std::uint8_t flags, cleanup_list* cleanup) noexcept {
    make_caster<std::vector<std::int32_t>> order;
    if (!order.from_python(source, flags, cleanup)) return false;
    if (order.value.size() > rondel::network::Dims::MAX_DIMS) return false;
    std::copy(order.value.begin(), order.value.end(), value.order);
    return true;
  }

  static handle from_cpp(const rondel::network::Permutation& p, rv_policy, cleanup_list*) noexcept {
    list order;
    for (const std::int32_t axis : p.order) order.append(axis);
    return nanobind::tuple(order).release();
  }
};

}  // namespace nanobind::detail
