#pragma once
#include "ir/op_def.h"
#include "kernels/window.h"

namespace rondel::ops {

/// The attributes of a convolution, and their values.
ir::Attributes convolution_attributes();
kernels::ConvSpec convolution_spec(const ir::Attributes&);
/// Type rule: input 0 is x [n, channels, spatial...], input `w` the kernels [m, channels / groups,
/// kernel...]; output 0 has dtype `result`. `others_fit`: the other inputs certainly fit the
/// kernels.
void convolution_rule(ir::TypeContext&, std::size_t w, DType result, bool others_fit);
/// The same for kernels of this type.
void convolution_rule(ir::TypeContext&, const ir::Type& w, DType result, bool others_fit);
/// Whether input k certainly has one element for each output channel of the kernels, input `w`. An
/// error if it cannot.
bool fits_output_channels(const ir::TypeContext&, std::size_t k, std::size_t w,
                          std::string_view what);
/// The same, if input k may also have one element for all channels.
bool fits_whole_or_channels(const ir::TypeContext&, std::size_t k, std::size_t w,
                            std::string_view what);

}  // namespace rondel::ops
