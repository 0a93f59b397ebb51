"""TensorRT names that Rondel lacks raise an error with an alternative; options without effect are accepted, and noted."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from models import refused, same
from nets import F32, Net

import rondel
from rondel import network as trt
from rondel.network import LoopOutput, Network, not_here


def test_what_is_not_here_says_why():
    n = Network()
    assert not hasattr(n, "add_plugin_v2")
    with refused(rondel.UnsupportedError, "add_plugin_v2", "layers"):
        n.add_plugin_v2([], None)
    with refused(rondel.UnsupportedError, "build_session", "to_onnx"):
        trt.Builder().build_serialized_network(n, None)
    with pytest.raises(AttributeError, match="add_nothing"):
        n.add_nothing()


def every_name_that_is_not_here():
    net, builder = Net(), trt.Builder()
    image = net.input("image", (1, 1, 4, 4))
    owners = {
        "Network": net.network, "ITensor": net.input("x", (2,)),
        "IConvolutionLayer": net.network.add_convolution_nd(image, 1, (3, 3), np.zeros((1, 1, 3, 3), np.float32)),
        "IPoolingLayer": net.network.add_pooling_nd(image, trt.PoolingType.MAX, (2, 2)), "IPaddingLayer": net.network.add_padding_nd(image, (0, 1), (0, 1)),
        "Builder": builder, "IBuilderConfig": builder.create_builder_config(), "rondel.network": trt,
    }  # fmt: skip
    names = (not_here.NETWORK, not_here.TENSOR, not_here.CONVOLUTION, not_here.POOLING, not_here.PADDING, not_here.BUILDER, not_here.CONFIG, not_here.MODULE)
    tables = zip(owners, names, strict=True)
    return [(owners[kind], kind, name, way_out) for kind, table in tables for name, way_out in table.items()]


@pytest.mark.parametrize("owner, kind, name, way_out", every_name_that_is_not_here(), ids=lambda x: x if isinstance(x, str) else "")
def test_every_name_that_is_not_here_says_why(owner, kind, name, way_out):
    assert not hasattr(owner, name) and name not in trt.__all__
    with refused(rondel.UnsupportedError, f"{kind}.{name} is not here: {way_out}"):
        getattr(owner, name)
    if kind not in ("IBuilderConfig", "rondel.network"):  # other attributes can be set: a configuration stores them, a module is Python's
        with refused(rondel.UnsupportedError, f"{kind}.{name} is not here: {way_out}"):
            setattr(owner, name, 1)


def test_the_way_out_leads_there():
    ways = [way_out for _, _, _, way_out in every_name_that_is_not_here()]
    named = {word for way in ways for word in re.findall(r"\b(?:add|mark|unmark)_\w+|build_session|to_onnx", way)}
    assert "add_convolution_nd" in named and not [name for name in named if not hasattr(Network, name)]
    successors = [(owner, way_out.split()[0]) for owner, _, _, way_out in every_name_that_is_not_here() if isinstance(owner, trt.ILayer)]
    assert len(successors) == 9 and all(hasattr(owner, name) for owner, name in successors)
    with pytest.raises(AttributeError, match="no_such_name"):
        trt.no_such_name  # noqa: B018


def test_the_classic_samples_blocks(capsys):
    assert trt.__version__ == rondel.__version__
    logger = trt.Logger(trt.Logger.INFO)
    with logger, trt.Builder(logger) as b, b.create_network() as n, b.create_builder_config() as config:
        trt.init_libnvinfer_plugins(logger, "")
        b.max_threads = 4
        n.error_recorder = config.int8_calibrator = None
        n.mark_output(n.add_identity(n.add_input("x", F32, (2,))).get_output(0))
        assert b.is_network_supported(n, config)
        session = b.build_session(n, config)
    assert isinstance(b, trt.Builder) and isinstance(n, Network) and isinstance(config, trt.IBuilderConfig)
    same(session.run(None, {"x": np.float32([1, 2])})[0], np.float32([1, 2]))
    assert b.max_threads == 4 and n.error_recorder is None and b.error_recorder is None
    said = capsys.readouterr().err
    assert all(word in said for word in ("no plugins", "intra_op_num_threads", "error_recorder", "int8_calibrator"))
    b.reset()
    assert b.max_threads == 0
    with pytest.raises(ZeroDivisionError), b.create_network():
        1 / 0  # noqa: B018


def test_whether_a_network_is_supported(capsys):
    builder = trt.Builder()
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    assert network.get_flag(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED)
    assert not network.get_flag(trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH)
    assert builder.create_network(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED).flags == 1
    loop = network.add_loop()
    state = loop.add_recurrence(network.add_input("x", F32, ())).get_output(0)
    network.mark_output(loop.add_loop_output(state, LoopOutput.LAST_VALUE).get_output(0))
    assert not builder.is_network_supported(network, None)
    assert "loop 0 has no trip limit" in capsys.readouterr().err


def test_code_written_for_tensorrt_runs(capsys):
    logger = trt.Logger(trt.Logger.INFO)
    builder = trt.Builder(logger)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH))
    config = builder.create_builder_config()
    config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, 1 << 33)
    config.set_flag(trt.BuilderFlag.FP16)
    config.max_aux_streams = 2
    profile = builder.create_optimization_profile()
    profile.set_shape("x", (1, 2), (4, 2), (8, 2))
    config.add_optimization_profile(profile)
    assert config.get_flag(trt.BuilderFlag.FP16) and config.max_aux_streams == 2
    assert config.get_memory_pool_limit(trt.MemoryPoolType.WORKSPACE) == 1 << 33
    assert profile.get_shape("x") == [(1, 2), (4, 2), (8, 2)]
    x = network.add_input("x", trt.float32, (-1, 2))
    network.mark_output(network.add_activation(x, trt.ActivationType.RELU).get_output(0))
    session = builder.build_session(network, config)
    same(session.run(None, {"x": np.float32([[-1, 1]])})[0], np.float32([[0, 1]]))
    said = capsys.readouterr().err
    assert all(word in said for word in ("memory pool", "FP16", "max_aux_streams", "profiles")) and "INFO" in said
    assert len(builder.notes) == 4


def test_a_logger_of_ones_own():
    heard = []

    class Mine(trt.ILogger):
        def log(self, severity, msg):
            heard.append((severity, msg))

    trt.Builder(Mine()).create_builder_config().set_flag(trt.BuilderFlag.INT8)
    assert heard and heard[0][0] == trt.Logger.INFO and "INT8" in heard[0][1]
    with refused(rondel.CallerError, "logger"):
        trt.Builder(3)


def test_a_configuration_begins_as_tensorrts():
    config = trt.Builder().create_builder_config()
    assert config.avg_timing_iterations == 1 and config.engine_capability == trt.EngineCapability.STANDARD
    assert config.default_device_type == trt.DeviceType.GPU and config.max_num_tactics == -1
    config.avg_timing_iterations, config.default_device_type = 3, trt.DeviceType.DLA
    config.set_flag(trt.BuilderFlag.STRIP_PLAN)
    assert (config.avg_timing_iterations, config.default_device_type, config.flags) == (3, trt.DeviceType.DLA, 1 << 19)
    config.reset()
    assert (config.avg_timing_iterations, config.default_device_type, config.flags) == (1, trt.DeviceType.GPU, 0)


# The numbers of TensorRT 10.
@pytest.mark.parametrize("name, number", {"TF32": 6, "STRICT_TYPES": 9, "FP8": 15, "BF16": 17, "WEIGHT_STREAMING": 21}.items())
def test_flags_have_tensorrts_numbers(name, number):
    assert trt.BuilderFlag[name] == number


# In C++, a call that Rondel lacks does not compile; the message of the compiler names the alternative.
@pytest.mark.parametrize(
    "call, why",
    [
        ("network.addResize(x)", "Rondel has no such layer yet"),
        ("network.addPluginV2(&t, 1, x)", "Rondel has no plugins"),
        ("builder.buildSerializedNetwork(network, config)", "Rondel has no engine files"),
        ("config.createTimingCache(nullptr, 0)", "Rondel times nothing"),
        ("network.setWeightsName(0, 0)", "Rondel has no refitting"),
        ("network.addShuffle(x)", None),
    ],
)
def test_what_cpp_has_not_does_not_compile_and_says_why(call, why, tmp_path):
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    source = tmp_path / "call.cpp"
    source.write_text(f"""#include <rondel/network.h>
using namespace rondel::network;
void run(IBuilder& builder, IBuilderConfig& config, INetworkDefinition& network, ITensor& x) {{
  ITensor* t = &x;
  (void)builder, (void)config, (void)network, (void)t;
  {call};
}}
""")
    include = Path(__file__).parents[3] / "include"
    done = subprocess.run([compiler, "-std=c++20", f"-I{include}", "-fsyntax-only", source], capture_output=True, text=True)
    assert (done.returncode == 0) == (why is None) and (why is None or why in done.stderr), done.stderr
