/* Runs a compiled model: rondel compile root.onnx -o root.so; cc first_run.c ./root.so */
#include "root.h"

#include <stdio.h>

int main(void) {
  const float a[] = {2, 9, 100};
  const int64_t shape[] = {3};
  const rondel_tensor inputs[ROOT_INPUT_COUNT] = {[ROOT_INPUT_A] = {RONDEL_F32, 1, shape, a}};
  rondel_results* results = root_run(inputs, ROOT_INPUT_COUNT, NULL);
  if (results->status != RONDEL_OK) {
    fprintf(stderr, "%s\n", results->error);
    root_free(results);
    return 1;
  }
  const float* roots = results->outputs[ROOT_OUTPUT_R].data;
  const long trips = (long)results->outputs[ROOT_OUTPUT_STEPS].shape[0];
  printf("%g %g %g after %ld trips\n", roots[0], roots[1], roots[2], trips);
  root_free(results);
  return 0;
}
