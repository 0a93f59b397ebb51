"""Uses all of the package as its users do. Type checkers read this file (test_types.py); it is not run.

A line with a comment `# wrong: ` is an error that they must find.
"""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from typing_extensions import assert_type

import rondel
from rondel import benchmarking, deepx, prediction, profiling, sweeps, train
from rondel import network as net
from rondel.capi import onnxruntime_pybind11_state as inner
from rondel.functions import onnx as op
from rondel.functions import trace

Array = npt.NDArray[Any]
X = np.zeros((3, 2), np.float32)


def own_ops() -> None:
    def triple(x: Array, by: float = 3.0) -> Array:
        return x * by

    def shape(x: rondel.TensorType, by: float = 3.0) -> rondel.TensorType:
        return rondel.TensorType(np.dtype(np.float32), (*(x.shape or ()), 3, "n", None))

    rondel.register_op("my.ops", "Triple", triple, types=shape, gradient=lambda x, y, dy, by: dy[0] * by, pure=True, replace=True)
    rondel.register_op("my.ops", "Triple", triple, types="run")
    rondel.register_op("my.ops", "Triple", onnx.FunctionProto())
    rondel.register_op("my.ops", "Triple", triple, types="walk")  # wrong: types
    assert_type(rondel.registered_ops(), list[tuple[str, str]])
    assert_type(rondel.InferenceSession("m.onnx").custom_ops, list[tuple[str, str]])
    assert_type(rondel.inspect("m.onnx").custom_ops, list[tuple[str, str]])
    rondel.unregister_op("my.ops", "Triple")


def sessions() -> None:
    options = rondel.SessionOptions()
    options.max_trips = 3
    options.max_memory_bytes, options.intra_op_num_threads, options.loop_cond = 10**9, 2, "honour"
    options.jit, options.strict, options.external_data_dir = False, True, None
    options.graph_optimization_level = rondel.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.execution_mode = rondel.ExecutionMode.ORT_SEQUENTIAL
    options.execution_order = rondel.ExecutionOrder.DEFAULT
    options.enable_profiling, options.profile_file_prefix, options.optimized_model_filepath = True, "times", "o.onnx"
    options.max_trips = "3"  # wrong: a number
    options.add_session_config_entry("session.optimized_model_external_initializers_file_name", "w.bin")
    assert_type(options.get_session_config_entry("key"), str)
    options.add_free_dimension_override_by_name("batch", 3)
    options.add_free_dimension_override_by_denotation("DATA_BATCH", 3)
    options.add_initializer("W", rondel.OrtValue.ortvalue_from_numpy(X))
    options.add_external_initializers(["W"], [rondel.OrtValue.ortvalue_from_numpy(X)])
    options.add_external_initializers_from_files_in_memory(["w.bin"], [b"12"], [2])

    session = rondel.InferenceSession("m.onnx", options, providers=["CPUExecutionProvider", ("CUDAExecutionProvider", {"device_id": 0})])
    rondel.InferenceSession(b"", sess_options=None, providers=["CPUExecutionProvider"], provider_options=[{}])
    rondel.InferenceSession("m.onnx", 3)  # wrong: options
    limits = rondel.RunOptions()
    limits.max_trips, limits.max_memory_bytes = 1000, 1 << 30
    limits.deadline, limits.seed, limits.terminate, limits.logid = 1.5, 3, False, "mine"
    limits.add_run_config_entry("key", limits.get_run_config_entry("key"))
    results = session.run(None, {"x": X, "n": 3}, limits)
    assert_type(results, list[Any])
    session.run(["y"], [X])  # wrong: feeds
    assert_type(session.get_inputs()[0].shape, list[int | str | None] | None)
    name: str = session.get_outputs()[0].name + session.get_overridable_initializers()[0].type
    meta: dict[str, str] = session.get_modelmeta().custom_metadata_map
    assert_type(session.get_providers(), list[str])
    assert_type(session.get_provider_options(), dict[str, dict[str, str]])
    session.set_providers(["CPUExecutionProvider"])
    assert_type(session.how_it_ran(), dict[str, str])
    assert_type(session.ir_text(imported=True), str)
    assert_type(session.end_profiling(), str)
    assert_type(session.get_profiling_start_time_ns(), int)
    assert_type(copy.deepcopy(session), rondel.InferenceSession)
    print(name, meta, pickle.dumps(options), session.get_session_options().max_trips)

    def callback(outputs: list[Any], data: Any, failure: str) -> None:
        print(outputs, data, failure)

    session.run_async(None, {"x": X}, callback, 3, limits)


def values() -> None:
    session = rondel.InferenceSession("m.onnx")
    value = rondel.OrtValue.ortvalue_from_shape_and_type([3, 2], np.float32)
    value.update_inplace(X)
    assert_type(value.shape(), list[int])
    assert_type(value.data_ptr(), int)
    value = rondel.OrtValue.from_dlpack(value)
    array: Array = value.numpy()
    assert_type(session.run_with_ort_values(["y"], {"x": value}), list[rondel.OrtValue])
    binding = session.io_binding()
    binding.bind_cpu_input("x", array)
    binding.bind_input("x", "cpu", 0, np.float32, [3, 2], value.data_ptr())
    binding.bind_output("y", "cpu", 0, 1, (3, 2), value.data_ptr())
    binding.bind_ortvalue_input("x", value)
    binding.bind_ortvalue_output("y", value)
    session.run_with_iobinding(binding)
    assert_type(binding.get_outputs(), list[rondel.OrtValue])
    cpu = rondel.OrtDevice.make("cpu", 0)
    assert_type(cpu.device_vendor_id() == rondel.OrtDeviceVendorId.NONE, bool)
    sparse = rondel.SparseTensor.sparse_coo_from_numpy([9, 9], np.ones(1), np.array([3]), cpu)
    assert_type(sparse.format(), rondel.OrtSparseFormat)
    dense: Array = sparse.to_dense() + sparse.as_coo_view().indices().sum()
    rondel.copy_tensors([rondel.OrtValue.ort_value_from_sparse_tensor(sparse)], [value])
    print(dense)


def package() -> None:
    rondel.set_seed(3)
    rondel.set_default_logger_severity(2)
    rondel.set_default_logger_verbosity(0)
    rondel.set_default_logger_callback(lambda severity, category, logid, place, text: print(severity, text))
    texts: list[str] = [rondel.get_device(), rondel.get_version_string(), rondel.get_build_info(), *rondel.get_all_providers()]
    try:
        print(texts)
    except (inner.InvalidArgument, inner.Fail, rondel.LimitExceeded) as error:
        assert_type(error.node, str | None)
        print(error.trips, error.message, error.frames)


def models() -> None:
    assert_type(rondel.export("m.onnx"), bytes)
    assert_type(rondel.export("m.onnx", "w.onnx", opset=21, external_data=True), rondel.ExportReport)
    opset: int = rondel.export("m.onnx", "w.onnx").opset
    report = rondel.inspect("m.onnx")
    assert_type(report.runs, bool)
    assert_type(report.op_counts, dict[str, int])
    assert_type(rondel.trace_passes("m.onnx", after="fuse")[0].seconds, float)
    gradient: onnx.ModelProto = rondel.grad("m.onnx", ["w"], checkpoint="sqrt")
    tangent: onnx.ModelProto = rondel.jvp("m.onnx", "w")
    loss, gradients = rondel.value_and_grad("m.onnx", "w")({"x": X})
    print(opset, gradient, tangent, loss, gradients["w"])


def training() -> None:
    trainer = train.Trainer("m.onnx", train.CrossEntropy(), train.Adam(lr=1e-3, betas=(0.9, 0.99)), clip_norm=1, schedule=lambda step: 0.5)
    assert_type(trainer.step({"x": X, "labels": [1, 2, 3]}), float)
    assert_type(trainer.fit({"x": X}, epochs=3, batch_size=2), list[float])
    weights: Array = trainer.parameters["w"]
    print(trainer.steps, trainer.learning_rate, trainer.evaluate([{"x": X}]), trainer.predict({"x": X}), weights)
    trainer.save("state.npz")
    assert_type(trainer.resume("state.npz"), train.Trainer)
    parts: list[dict[str, Any]] = [{}]
    assert_type(trainer.gradients(parts[0], part=1), train.Gradients)
    assert_type(trainer.shares(parts), list[float])
    trainer.update(trainer.gradients(parts[0]))
    train.Trainer("m.onnx", "mse", train.SGD(momentum=0.9)).write_model("trained.onnx")
    train.Trainer("m.onnx", train.MeanSquaredError(), train.AdamW())
    train.Trainer("m.onnx", train.NegativeLogLikelihood(ignore_index=-1), train.Adagrad(lr_decay=0.1))
    train.SGD(lr="fast")  # wrong: a number


def programs() -> None:
    session = deepx.Session("folder", max_trips=10)
    failures = session.run("x = 1", keep_going=True, on_print=print, deadline=1)
    assert_type(failures, list[rondel.Error])
    session["t"] = X
    del session["t"]
    assert_type(session.names(), list[str])
    assert_type(session.kind("t"), tuple[str, np.dtype[Any], tuple[int, ...]] | None)
    assert_type(session.export("x = 1", "m.onnx"), rondel.ExportReport)
    print(deepx.instructions()[0].usage, deepx.help("add"), deepx.formatted("x"), deepx.ends_in_block("x"), len(session), list(session))


def scheduled() -> None:
    model = rondel.mdf.load("model.json")
    results = model.run(100, dt=0.1, record=["A.y"], set={"A.k": 3})
    column: Array = results["A.y"]
    simulation = model.simulation()
    rows: dict[str, Array] = simulation.advance(3, 0.1, {"A.x": 1})
    assert_type(model.session(3), rondel.InferenceSession)
    assert_type(rondel.mdf.loads({"model": {}}), rondel.mdf.Model)
    graph = rondel.mdf.EvaluableGraph("model.json")
    graph.evaluate(time_increment=0.1)
    print(column, rows, simulation.copy().evaluated, model.name, model.output_ports, graph.enodes["A"].evaluable_outputs["y"].curr_value)


def functions() -> None:
    total: Array = op.add([1, 2], 3)
    pooled = op.max_pool(total, kernel_shape=[2, 2], outputs=2)
    looped = op.loop(10, True, total, body=lambda i, go, x: (go, x * 2, x))
    op.conv(total, total, strides="2")  # wrong: numbers
    assert_type(trace(lambda a, b: op.add(a, b), 1.0, 2.0), rondel.InferenceSession)
    print(pooled, looped, op.if_(True, then_branch=lambda: total, else_branch=lambda: 0), op.reducesum(total))


def networks() -> None:
    n = net.Network()
    a = n.add_input("a", net.DataType.FLOAT, (-1,))
    half = n.add_constant((1,), np.array([0.5], np.float32))
    half.shape = [1]
    assert_type(half.get_output(0).shape, net.Dims)
    n.add_input("b", "float", (1,))  # wrong: a DataType
    product = n.add_elementwise(a, half.get_output(0), net.ElementWiseOperation.PROD)
    product.op = net.ElementWiseOperation.SUM
    conv = n.add_convolution_nd(a, 4, (3, 3), np.zeros((4, 1, 3, 3), np.float32))
    conv.stride_nd, conv.num_groups = (2, 2), 1
    conv.no_such = 3  # wrong: no attribute
    loop = n.add_loop()
    state = loop.add_recurrence(a)
    state.set_input(1, product.get_output(0))
    loop.add_trip_limit(a, net.TripLimit.COUNT)
    output = loop.add_loop_output(state.get_output(0), net.LoopOutput.CONCATENATE, axis=0)
    assert_type(output, net.ILoopOutputLayer)
    assert_type(output.loop, net.ILoop)
    branch = n.add_if_conditional()
    branch.set_condition(a)
    n.mark_output(branch.add_output(a, a).get_output(0))
    n.add_slice(a, (0,), (1,), (1,)).mode = net.SliceMode.WRAP
    with net.Builder(net.Logger(net.Logger.WARNING)) as builder:
        config = builder.create_builder_config()
        config.set_flag(net.BuilderFlag.FP16)
        config.set_memory_pool_limit(net.MemoryPoolType.WORKSPACE, 1 << 30)
        assert_type(builder.build_session(n, config), rondel.InferenceSession)
    print(n.num_layers, n.get_layer(0).name, n[0].type, net.volume((2, 3)), net.nptype(net.DataType.FLOAT), len(n), net.float32)
    print(net.Weights(X).numpy(), net.Dims((1, 2)), net.DimsHW(1, 2).h, n.ir_text(), n.to_onnx("n.onnx"), n.build_session().get_inputs())


def backends() -> None:
    assert_type(rondel.backend.prepare("m.onnx").run([X]), tuple[Any, ...])
    assert_type(rondel.backend.RondelBackend.supports_device("CPU"), bool)


def tables() -> None:
    job = sweeps.MdfSweep("m.yaml", 100, 0.1, set={"cell.tau": sweeps.span(0, 1, 5), "cell.k": sweeps.over([1, 2])}, product=True)
    summary = sweeps.run(job, "t.csv", batch=10)
    assert_type(summary.rows, int)
    for name, least, _, _ in summary:
        assert_type(name, str)
        assert_type(least, float)
    columns = sweeps.OnnxSweep("m.onnx", {"x": sweeps.over(X)}, outputs="y").part(0, 3)
    sweeps.span(0, "x", 3)  # wrong: a number
    predict = prediction.Predictor("m.onnx", outputs="y", columns={"x": "features"})
    assert_type(list(predict(columns)), list[str])
    found = benchmarking.benchmark("m.onnx", {"x": X}, threads=[1, 2], report=print)
    assert_type(benchmarking.disagreement([X], [X]), float)
    assert_type(profiling.profile_html(found["events"], "m.onnx"), str)
