#pragma once
#include "kernels/unsized_kernel.h"

namespace rondel::kernels {

/// The weights [dft_length / 2 + 1, bands] of triangular bands that are equally wide on the mel
/// scale: mel(f) = 2595 * log10(1 + f / 700). Inputs of one element each: the number of bands, the
/// length of the transform and the sample rate (integers), the lowest and the highest frequency
/// (floats). Computed in f64, and stored as `result`, a number. Throws Error(caller) if a band
/// reaches beyond the spectrum.
void mel_weights(UnsizedCall&, DType result);

}  // namespace rondel::kernels
