#pragma once
#include "ops/recurrent/recurrent.h"

/// Shared by lstm and dynamic_quantize_lstm.
namespace rondel::ops {

Recurrence lstm_recurrence();
ir::Attributes lstm_attributes();

}  // namespace rondel::ops
