/* Models that `rondel compile` made, called from C: what all of them have in common. The header
   that is written beside a model has this text, and the model's own names. */
#ifndef RONDEL_COMPILED_C_H
#define RONDEL_COMPILED_C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Types of elements. An element takes its natural size, row-major. bool: a byte, 0 or 1; complex:
   two floats; f16, bf16: 16 bits; all smaller floats, and integers of 4 and 2 bits: a byte each. */
typedef enum rondel_dtype {
  RONDEL_LEFT_OUT = -1, /* of an input with a default: there is no tensor */
  RONDEL_F64 = 0,
  RONDEL_F32,
  RONDEL_F16,
  RONDEL_BF16,
  RONDEL_F8E4M3FN,
  RONDEL_F8E4M3FNUZ,
  RONDEL_F8E5M2,
  RONDEL_F8E5M2FNUZ,
  RONDEL_F8E8M0,
  RONDEL_F4E2M1,
  RONDEL_I64,
  RONDEL_I32,
  RONDEL_I16,
  RONDEL_I8,
  RONDEL_I4,
  RONDEL_I2,
  RONDEL_U64,
  RONDEL_U32,
  RONDEL_U16,
  RONDEL_U8,
  RONDEL_U4,
  RONDEL_U2,
  RONDEL_BOOL,
  RONDEL_C64,
  RONDEL_C128,
  RONDEL_STRING
} rondel_dtype;

/* An element of a tensor of strings: `size` bytes of UTF-8, without a 0 at the end. */
typedef struct rondel_text {
  const char* data;
  size_t size;
} rondel_text;

/* A row-major tensor. `shape`: `rank` extents, 0 or more; may be null if the rank is 0. `data`:
   aligned as its elements are; may be null if there are none. */
typedef struct rondel_tensor {
  int32_t dtype; /* a rondel_dtype */
  int32_t rank;
  const int64_t* shape;
  const void* data;
} rondel_tensor;

typedef enum rondel_status {
  RONDEL_OK = 0,
  RONDEL_INVALID = 1,     /* an input is wrong, or data that a node does not accept */
  RONDEL_UNSUPPORTED = 2, /* what this build, or this processor, cannot do */
  RONDEL_INTERNAL = 3,    /* a bug of Rondel */
  RONDEL_LIMIT = 4,       /* a budget is used up, or there is no memory */
  RONDEL_DEADLINE = 5,
  RONDEL_CANCELLED = 6
} rondel_status;

/* The outcome of a run. With a status other than RONDEL_OK, `error` says in words what is wrong, in
   which node, and what was expected; there are no outputs. All memory belongs to the results. */
typedef struct rondel_results {
  int32_t status;    /* a rondel_status */
  const char* error; /* "": none */
  size_t count;      /* the number of outputs */
  const rondel_tensor* outputs;
} rondel_results;

/* An input or an output. `type`: in ONNX's notation, such as "tensor(float)". `shape`: for each of
   `rank` axes an extent, the name of one that is not known, or "". `rank` is -1 if it is not known.
   `optional`: it may be left out (an input with a default). */
typedef struct rondel_port {
  const char* name;
  const char* type;
  int32_t dtype;
  int32_t rank;
  const char* const* shape;
  int32_t optional;
} rondel_port;

/* The limits of a run. All bytes 0: none. */
typedef struct rondel_run_options {
  double deadline;         /* seconds from the start of the run; 0: none */
  uint64_t seed;           /* of random ops */
  int64_t max_trips;       /* the most trips of a loop; 0: no limit */
  size_t max_memory_bytes; /* the most bytes that the run may hold at once; 0: no limit */
  int (*interrupted)(
      void* state); /* called about every 20 ms on another thread; not 0 ends the run */
  void* state;
} rondel_run_options;

/* The numbers of inputs and outputs, and what they are. */
typedef struct rondel_ports {
  size_t input_count, output_count;
  const rondel_port *inputs, *outputs;
} rondel_ports;

#ifdef __cplusplus
}
#endif

#endif
