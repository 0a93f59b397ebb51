#include "linked/processor.h"

#include <map>
#include <string_view>
#include <vector>

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace rondel::linked {
namespace {

/// Whether this processor, and the system, have the instruction sets that code for vectors and
/// numbers may use. All others that LLVM lists change no code of programs.
std::map<std::string_view, bool> instruction_sets() {
#if defined(__aarch64__)
  const unsigned long has = getauxval(AT_HWCAP), has_too = getauxval(AT_HWCAP2);
  return {{"crc", (has & HWCAP_CRC32) != 0},
          {"lse", (has & HWCAP_ATOMICS) != 0},
          {"rdm", (has & HWCAP_ASIMDRDM) != 0},
          {"fullfp16", (has & HWCAP_ASIMDHP) != 0},
          {"fp16fml", (has & HWCAP_ASIMDFHM) != 0},
          {"complxnum", (has & HWCAP_FCMA) != 0},
          {"dotprod", (has & HWCAP_ASIMDDP) != 0},
          {"rcpc", (has & HWCAP_LRCPC) != 0},
          {"sha3", (has & HWCAP_SHA3) != 0},
          {"sve", (has & HWCAP_SVE) != 0},
          {"sve2", (has_too & HWCAP2_SVE2) != 0},
          {"i8mm", (has_too & HWCAP2_I8MM) != 0},
          {"bf16", (has_too & HWCAP2_BF16) != 0},
          {"cssc", (has_too & (1UL << 34)) != 0}};  // HWCAP2_CSSC, which older headers lack
#else
  __builtin_cpu_init();
#define RONDEL_HAS(llvm, gcc) \
  { llvm, __builtin_cpu_supports(gcc) != 0 }
  return {RONDEL_HAS("sse3", "sse3"),
          RONDEL_HAS("ssse3", "ssse3"),
          RONDEL_HAS("sse4.1", "sse4.1"),
          RONDEL_HAS("sse4.2", "sse4.2"),
          RONDEL_HAS("sse4a", "sse4a"),
          RONDEL_HAS("popcnt", "popcnt"),
          RONDEL_HAS("lzcnt", "lzcnt"),
          RONDEL_HAS("movbe", "movbe"),
          RONDEL_HAS("bmi", "bmi"),
          RONDEL_HAS("bmi2", "bmi2"),
          RONDEL_HAS("adx", "adx"),
          RONDEL_HAS("tbm", "tbm"),
          RONDEL_HAS("xop", "xop"),
          RONDEL_HAS("avx", "avx"),
          RONDEL_HAS("f16c", "f16c"),
          RONDEL_HAS("fma", "fma"),
          RONDEL_HAS("fma4", "fma4"),
          RONDEL_HAS("avx2", "avx2"),
          RONDEL_HAS("avxvnni", "avxvnni"),
          RONDEL_HAS("gfni", "gfni"),
          RONDEL_HAS("vaes", "vaes"),
          RONDEL_HAS("vpclmulqdq", "vpclmulqdq"),
          RONDEL_HAS("avx512f", "avx512f"),
          RONDEL_HAS("avx512cd", "avx512cd"),
          RONDEL_HAS("avx512bw", "avx512bw"),
          RONDEL_HAS("avx512dq", "avx512dq"),
          RONDEL_HAS("avx512vl", "avx512vl"),
          RONDEL_HAS("avx512ifma", "avx512ifma"),
          RONDEL_HAS("avx512vbmi", "avx512vbmi"),
          RONDEL_HAS("avx512vbmi2", "avx512vbmi2"),
          RONDEL_HAS("avx512vnni", "avx512vnni"),
          RONDEL_HAS("avx512bitalg", "avx512bitalg"),
          RONDEL_HAS("avx512vpopcntdq", "avx512vpopcntdq"),
          RONDEL_HAS("avx512bf16", "avx512bf16"),
          RONDEL_HAS("avx512fp16", "avx512fp16")};
#undef RONDEL_HAS
#endif
}

}  // namespace

std::string missing_instruction_sets(std::span<const std::string> needed) {
  const auto here = instruction_sets();
  std::vector<std::string> missing;
  for (const std::string& name : needed)
    if (const auto it = here.find(name); it != here.end() && !it->second) missing.push_back(name);
  std::string text;
  for (std::size_t k = 0; k < missing.size(); ++k)
    text += (k == 0 ? "" : k + 1 < missing.size() ? ", " : " and ") + missing[k];
  return text;
}

}  // namespace rondel::linked
