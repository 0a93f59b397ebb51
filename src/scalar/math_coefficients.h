#pragma once

/// Coefficients of the transcendental functions, ascending. Written by
/// tools/fit_polynomials.py, which says how; the error is relative to the function.
namespace rondel::scalar::coefficients {

/// exp(x) = 1 + x + x^2 p(x), |x| <= 0.34658: error 2^-28.2
inline constexpr double exp_f32[] = {
    0x1.fffffc0000000p-2, 0x1.5554920000000p-3,  0x1.5558a40000000p-5,
    0x1.1239760000000p-7, 0x1.6a5a240000000p-10,
};

/// exp(x) = 1 + x + x^2 p(x), |x| <= 0.34658: error 2^-57.9
inline constexpr double exp_f64[] = {
    0x1.000000000000ap-1,  0x1.5555555555503p-3,  0x1.55555555506bbp-5,  0x1.111111112588ap-7,
    0x1.6c16c18476b20p-10, 0x1.a01a0135ec060p-13, 0x1.a01999616016bp-16, 0x1.71df0c1b04248p-19,
    0x1.28adf96b11a2fp-22, 0x1.ada689e00f3ebp-26,
};

/// exp(x) = 1 + x + x^2 p(x), |x| <= 0.34658: error 2^-39.7
inline constexpr double exp_f64_for_f32[] = {
    0x1.000000005dfd0p-1,  0x1.5555557dc728dp-3,  0x1.5555541e57907p-5,  0x1.1110a2746921dp-7,
    0x1.6c18d3a9bed20p-10, 0x1.a1853e620b948p-13, 0x1.9e880dd49652ap-16,
};

/// expm1(x) = x + x^2 p(x), |x| <= 0.34658: error 2^-31.0
inline constexpr double expm1_f32[] = {
    0x1.0000000000000p-1, 0x1.5555540000000p-3,  0x1.5554f20000000p-5,
    0x1.1112f80000000p-7, 0x1.6d411c0000000p-10, 0x1.9e2b8c0000000p-13,
};

/// log(1 + x) = x - x^2 / 2 + x^3 p(x), -1/3 <= x <= 1/3: error 2^-30.1
inline constexpr double log_f32[] = {
    0x1.5555560000000p-2,  -0x1.ffff100000000p-3, 0x1.99980a0000000p-3,
    -0x1.5598d20000000p-3, 0x1.24e71c0000000p-3,  -0x1.f38f920000000p-4,
    0x1.b98ada0000000p-4,  -0x1.0705440000000p-3, 0x1.e822180000000p-4,
};

/// log((1 + s) / (1 - s)) = 2 s + s^3 p(s^2), |s| <= 0.1716: error 2^-59.5
inline constexpr double log_f64[] = {
    0x1.5555555555592p-1, 0x1.999999997ff42p-2, 0x1.24924941df3b7p-2, 0x1.c71c52156b20fp-3,
    0x1.74663cda047e9p-3, 0x1.39a1e6b1a1a37p-3, 0x1.2f03f80be2c5fp-3,
};

/// log((1 + s) / (1 - s)) = 2 s + s^3 p(s^2), |s| <= 0.1716: error 2^-44.9
inline constexpr double log_f64_for_f32[] = {
    0x1.555555561da31p-1, 0x1.999996ab1a2e5p-2, 0x1.2494112cc2019p-2,
    0x1.c62b522ec9381p-3, 0x1.91123e0bff4ecp-3,
};

/// log((1 + s) / (1 - s)) = 2 s + 2/3 s^3 + 2/5 s^5 + s^7 p(s^2), |s| <= 0.1716: error 2^-80.1
inline constexpr double log_extended[] = {
    0x1.2492492492489p-2, 0x1.c71c71c71f241p-3, 0x1.745d174349684p-3, 0x1.3b13b280f7d4bp-3,
    0x1.1110b00c5e3b0p-3, 0x1.e205266bb52f8p-4, 0x1.ab525227e4635p-4, 0x1.c060d205676c6p-4,
};

/// tanh(x) = x + x^3 p(x^2), |x| <= 0.55: error 2^-29.7
inline constexpr double tanh_f32[] = {
    -0x1.55554a0000000p-2, 0x1.110cfe0000000p-3,  -0x1.b922e40000000p-5,
    0x1.59147a0000000p-6,  -0x1.9a61300000000p-8,
};

/// tanh(x) = x + x^3 p(x^2), |x| <= 0.55: error 2^-60.6
inline constexpr double tanh_f64[] = {
    -0x1.555555555554fp-2,  0x1.1111111110795p-3,  -0x1.ba1ba1b97d24bp-5,  0x1.664f48595fad9p-6,
    -0x1.226e2f12c6b39p-7,  0x1.d6d29b5f6de53p-9,  -0x1.7d8fd162574e2p-10, 0x1.34839ed015840p-11,
    -0x1.e96f3e7155506p-13, 0x1.5d730ef8b6830p-14, -0x1.470e4b60813b1p-16,
};

/// sinh(x) = x + x^3 p(x^2), |x| <= 1: error 2^-62.0
inline constexpr double sinh_f64[] = {
    0x1.5555555555555p-3,  0x1.11111111111a6p-7,  0x1.a01a01a0048cbp-13, 0x1.71de3a6c67181p-19,
    0x1.ae643c8df633dp-26, 0x1.61345245f9f93p-33, 0x1.a4674f5f0a818p-41, 0x1.0aacf46905599p-47,
};

/// sinh(x) = x + x^3 p(x^2), |x| <= 1: error 2^-43.5
inline constexpr double sinh_f64_for_f32[] = {
    0x1.5555555576c9ap-3,  0x1.111110f2eb295p-7,  0x1.a01a24bdd7c4ep-13,
    0x1.71cc70b00c6e0p-19, 0x1.b68b232e3a813p-26,
};

/// sin(x) = x + x^3 p(x^2), |x| <= 0.7854: error 2^-27.9
inline constexpr double sin_f32[] = {
    -0x1.5555460000000p-3,
    0x1.11077a0000000p-7,
    -0x1.9954ea0000000p-13,
};

/// sin(x) = x + x^3 p(x^2), |x| <= 0.7854: error 2^-57.9
inline constexpr double sin_f64[] = {
    -0x1.5555555555548p-3, 0x1.111111110f75cp-7,   -0x1.a01a019bf2151p-13,
    0x1.71de355f0f827p-19, -0x1.ae5e548bd3197p-26, 0x1.5d8e41a1d935cp-33,
};

/// cos(x) = 1 - x^2 / 2 + x^4 p(x^2), |x| <= 0.7854: error 2^-33.0
inline constexpr double cos_f32[] = {
    0x1.55554a0000000p-5,
    -0x1.6c0c2c0000000p-10,
    0x1.99e9f80000000p-16,
};

/// cos(x) = 1 - x^2 / 2 + x^4 p(x^2), |x| <= 0.7854: error 2^-63.9
inline constexpr double cos_f64[] = {
    0x1.555555555554bp-5,   -0x1.6c16c16c1501bp-10, 0x1.a01a019c90075p-16,
    -0x1.27e4f7f253ae8p-22, 0x1.1ee9dc5fd47bdp-29,  -0x1.8fa6d398f9d33p-37,
};

/// atan(x) = x + x^3 p(x^2), |x| <= 0.41422: error 2^-30.4
inline constexpr double atan_f32[] = {
    -0x1.55554a0000000p-2, 0x1.9991e40000000p-3,  -0x1.23b9da0000000p-3,
    0x1.b228260000000p-4,  -0x1.f2fab00000000p-5,
};

/// atan(x) = x + x^3 p(x^2), |x| <= 0.41422: error 2^-59.4
inline constexpr double atan_f64[] = {
    -0x1.555555555553dp-2, 0x1.9999999995870p-3, -0x1.24924922ad969p-3, 0x1.c71c70e629660p-4,
    -0x1.745cf8dfbc7a4p-4, 0x1.3b11195db524cp-4, -0x1.10ebbb71b245ap-4, 0x1.df0f7cc7f763bp-5,
    -0x1.9cd3aa32f8ac1p-5, 0x1.37d81e67ad664p-5, -0x1.257000911de17p-6,
};

/// asin(x) = x + x^3 p(x^2), |x| <= 0.5: error 2^-31.7
inline constexpr double asin_f32[] = {
    0x1.55554c0000000p-3, 0x1.3338a00000000p-4, 0x1.6caa4c0000000p-5,
    0x1.04b3020000000p-5, 0x1.d757a20000000p-7, 0x1.33e87a0000000p-5,
};

/// asin(x) = x + x^3 p(x^2), |x| <= 0.5: error 2^-59.9
inline constexpr double asin_f64[] = {
    0x1.5555555555577p-3, 0x1.333333332e136p-4, 0x1.6db6db7212142p-5, 0x1.f1c71a9517621p-6,
    0x1.6e8bdedbe9ac3p-6, 0x1.1c49f0ae7c375p-6, 0x1.ca1f85857e037p-7, 0x1.7585cc9d64b6ep-7,
    0x1.613b078f67f79p-7, 0x1.e60d66517aa6dp-9, 0x1.6394dfc4ccec7p-6, -0x1.57f24918bbc95p-6,
    0x1.0b4313d52c6ffp-5,
};

/// erf(x) = x + x p(x^2), |x| <= 0.875: error 2^-29.5
inline constexpr double erf_f32[] = {
    0x1.06eba80000000p-3, -0x1.8127400000000p-2,  0x1.ce2d500000000p-4,  -0x1.b7fd8c0000000p-6,
    0x1.5415380000000p-8, -0x1.a38f4a0000000p-11, 0x1.4500220000000p-14,
};

/// erf(x) = x + x p(x^2), |x| <= 0.875: error 2^-55.3
inline constexpr double erf_f64[] = {
    0x1.06eba8214db69p-3,  -0x1.812746b037a41p-2,  0x1.ce2f21a048752p-4,  -0x1.b82ce314c6c7ap-6,
    0x1.565bcd81b7ee3p-8,  -0x1.c02dcf20bd849p-11, 0x1.f9a72cda3cb14p-14, -0x1.f5367a513e6c3p-17,
    0x1.c05fbde382a1fp-20, -0x1.a60b2e26875e8p-23, 0x1.72db107657c40p-25, -0x1.063f6c3fcc60ep-26,
    0x1.accd2fbb861c9p-29,
};

/// log(erfc(t)) in t - 0.875, relative to erf(t): error 2^-25.5
inline constexpr double log_erfc_f32[] = {
    -0x1.88672e0000000p+0, -0x1.3711900000000p+1, -0x1.a72a040000000p-1, -0x1.81ddc40000000p-5,
    0x1.7e5eec0000000p-7,  -0x1.38fd8c0000000p-9, 0x1.3238ae0000000p-12,
};

/// log(erfc(t)) in t - 0.875, relative to erf(t): error 2^-56.1
inline constexpr double log_erfc_f64[] = {
    -0x1.88672ea9b34dcp+0,  -0x1.3711709c17b32p+1,  -0x1.a730790b4e28cp-1,  -0x1.802c27924ca25p-5,
    0x1.730b0e5d5be45p-7,   -0x1.190494048baf3p-9,  0x1.a511be5e0fd1fp-13,  0x1.f16ca117724acp-15,
    -0x1.4a7bf393af166p-15, 0x1.9948899f53465p-17,  -0x1.16d5c41436d90p-19, -0x1.c11aab2e61ddep-24,
    0x1.d1453aed22c50p-23,  -0x1.71c223cb4c01fp-24, 0x1.6fa67d8bfd9b7p-26,  -0x1.f4e8cbea97360p-29,
    0x1.c7620a9582af1p-32,  -0x1.f15e34878e3e5p-36, 0x1.ead11c91bc90bp-41,
};

}  // namespace rondel::scalar::coefficients
