#pragma once
#include <rondel/compiled_c.h>

#include <cstdint>

namespace rondel::ahead {

/// What `rondel::CompiledModel` calls in a compiled model. The model's function
/// `rondel_compiled_model` returns it.
struct CompiledModelApi {
  std::uint32_t abi;
  /// Null if the model cannot run here; `*error` then says why.
  const rondel_ports* (*ports)(const char** error);
  rondel_results* (*run)(const rondel_tensor*, std::size_t, const rondel_run_options*);
  void (*free)(rondel_results*);
  /// Name, text, name, text, ... of Session::how_it_ran, each with a 0 behind it, and one more 0.
  /// The text is the caller's, and `free_text` frees it.
  char* (*how_it_ran)(int tiers);
  /// The same for names and values of ModelInfo.
  char* (*info)();
  void (*free_text)(char*);
};

/// The name of the function, and of the ELF note by which a compiled model is recognised.
inline constexpr const char* api_function = "rondel_compiled_model";
inline constexpr const char* note_name = "Rondel";

}  // namespace rondel::ahead
