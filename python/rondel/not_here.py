"""Names of onnxruntime's Python API that Rondel does not have.

Each name has a text that says what to use instead; using the name raises an error with this text.
"""

_DEVICE = "everything runs on the CPU; leave the line out"
_ALLOCATOR = "memory comes from the session's own pool; SessionOptions.max_memory_bytes limits it"
_ADAPTER = "weights are part of the model; make its adapted weights inputs, and feed them"
_COMPILED = "rondel.compile_model compiles a model ahead of time (docs/ahead_of_time.md); SessionOptions.optimized_model_filepath writes the optimized model as ONNX"
_LIBRARY = "rondel.register_op makes an op of a Python function; include/rondel/custom_op.h has the same for C++"
_TUNING = "nothing is tuned at run time; leave the line out"
_VECTOR = "run_with_ort_values takes and gives lists of OrtValue"
_SCHEMA = "docs/ops.md lists the ops; `rondel check` says what a model lacks"
_QUANTIZE = "onnxruntime.quantization writes such models, and Rondel runs them"

MODULE = {
    "AdapterFormat": _ADAPTER,
    "LoraAdapter": _ADAPTER,
    "ModelCompiler": _COMPILED,
    "OrtAllocatorType": _ALLOCATOR,
    "OrtArenaCfg": _ALLOCATOR,
    "OrtCompileApiFlags": _COMPILED,
    "OrtDeviceMemoryType": _DEVICE,
    "OrtEpAssignedNode": _DEVICE,
    "OrtEpAssignedSubgraph": _DEVICE,
    "OrtEpContextData": _COMPILED,
    "OrtEpContextDataBuffer": _COMPILED,
    "OrtEpDevice": _DEVICE,
    "OrtExecutionProviderDevicePolicy": _DEVICE,
    "OrtExternalInitializerInfo": "SessionOptions.add_external_initializers gives a model its external data",
    "OrtHardwareDevice": _DEVICE,
    "OrtHardwareDeviceType": _DEVICE,
    "OrtMemType": _DEVICE,
    "OrtMemoryInfo": _ALLOCATOR,
    "OrtMemoryInfoDeviceType": _DEVICE,
    "OrtSyncStream": _DEVICE,
    "create_and_register_allocator": _ALLOCATOR,
    "create_and_register_allocator_v2": _ALLOCATOR,
    "datasets": "onnxruntime.datasets has the example models; rondel.InferenceSession reads its files",
    "get_ep_devices": _DEVICE,
    "has_collective_ops": "ops over several machines are not here; leave the line out",
    "preload_dlls": _DEVICE,
    "print_debug_info": "rondel.get_build_info() says what is installed",
    "quantization": _QUANTIZE,
    "register_execution_provider_library": _DEVICE,
    "tools": "onnxruntime.tools writes ONNX files, and Rondel runs them",
    "transformers": "onnxruntime.transformers writes optimized models, and Rondel runs those of standard ONNX; sessions optimize a model by themselves",
    "unregister_execution_provider_library": _DEVICE,
    "set_global_thread_pool_sizes": "set SessionOptions.intra_op_num_threads",
}

#: Names of capi.onnxruntime_pybind11_state, besides those of MODULE.
CAPI = {
    "ArenaExtendStrategy": _ALLOCATOR,
    "kNextPowerOfTwo": _ALLOCATOR,
    "kSameAsRequested": _ALLOCATOR,
    "DeviceReset": _DEVICE,
    "InferenceSession": "rondel.InferenceSession is",
    "ModelLoadCanceled": "loading cannot be cancelled; RunOptions.terminate cancels a run",
    "ModelRequiresCompilation": _COMPILED,
    "OrtCompiledModelCompatibility": _COMPILED,
    "OrtDeviceEpIncompatibilityReason": _DEVICE,
    "SessionObjectInitializer": "rondel.SessionOptions() is",
    "SparseBlockSparseView": "sparse tensors have the formats COO and CSR",
    "get_all_operator_schema": _SCHEMA,
    "get_all_opkernel_def": _SCHEMA,
    "get_registered_ep_kernel_defs": _SCHEMA,
    "opkernel": _SCHEMA,
    "schemadef": _SCHEMA,
    "get_compatibility_info_from_model": _COMPILED,
    "get_compatibility_info_from_model_bytes": _COMPILED,
    "get_hardware_device_ep_incompatibility_details": _DEVICE,
    "get_hardware_devices": _DEVICE,
    "get_model_compatibility_for_ep_devices": _DEVICE,
    "get_session_initializer": "rondel.SessionOptions() is",
    "pack_fp4_weights_for_cuda_moe_gemm": _DEVICE,
    "quantize_matmul_2bits": _QUANTIZE,
    "quantize_matmul_4bits": _QUANTIZE,
    "quantize_matmul_8bits": _QUANTIZE,
    "quantize_matmul_bnb4": _QUANTIZE,
    "quantize_qdq_matmul_2bits": _QUANTIZE,
    "quantize_qdq_matmul_4bits": _QUANTIZE,
}

SESSION = {
    "get_input_memory_infos": _DEVICE,
    "get_output_memory_infos": _DEVICE,
    "get_input_epdevices": _DEVICE,
    "get_provider_graph_assignment_info": "every node runs on the CPU; how_it_ran() says how loops did",
    "get_tuning_results": _TUNING,
    "set_tuning_results": _TUNING,
    "set_ep_dynamic_options": "the CPU has no options that a session could change; set RunOptions",
    "run_with_ortvaluevector": _VECTOR,
    "release_captured_graph": _DEVICE,
}

SESSION_OPTIONS = {
    "add_provider": _DEVICE,
    "add_provider_for_devices": _DEVICE,
    "has_providers": _DEVICE,
    "set_provider_selection_policy": _DEVICE,
    "set_provider_selection_policy_delegate": _DEVICE,
    "register_custom_ops_library": _LIBRARY,
    "enable_onnxruntime_extensions": _LIBRARY,
    "set_load_cancellation_flag": "loading cannot be cancelled; RunOptions.terminate cancels a run",
    "set_ep_context_data_read_func": _COMPILED,
    "clear_ep_context_data_read_func": _COMPILED,
}

RUN_OPTIONS = {
    "add_active_adapter": _ADAPTER,
    "training_mode": "rondel.train.Trainer trains a model",
}

ORT_VALUE = {
    "ortvalue_from_shape_and_type_for_memory_info": _ALLOCATOR,
    "ortvalue_from_shape_and_onnx_type_for_memory_info": _ALLOCATOR,
}
