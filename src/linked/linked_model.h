#pragma once
#include "session/ahead/compiled_api.h"

/// The functions that a compiled model jumps to. rondel_compiled.h describes them.
extern "C" {
rondel_results* rondel_linked_run(const rondel_tensor* inputs, size_t count,
                                  const rondel_run_options*);
void rondel_linked_free(rondel_results*);
const rondel_ports* rondel_linked_ports(const char** error);
const rondel::ahead::CompiledModelApi* rondel_linked_api();
}
