"""As much of JAX as pallas_peer.py uses: kernels 'take' their key block in milliseconds."""
import sys
import types

__version__ = "0.0"


def module(name, **members):
    made = types.ModuleType(name)
    made.__dict__.update(members)
    sys.modules[name] = made
    return made


class TuningConfig:
    def __init__(self, block_q, block_kv, max_concurrent_steps, causal):
        self.block_kv, self.causal = block_kv, causal


def attention(q, k, v, config):
    if config.block_kv == 128 and not config.causal:
        raise ValueError("exceeds available shared memory")
    if q.shape[1] == 100:
        raise NotImplementedError("q_seq_len=100 must be a multiple of 128")
    return config.block_kv


class jit:
    def __init__(self, function):
        self.function = function

    def lower(self, *shapes):
        self.shapes = shapes
        return self

    def compile(self):
        self.ms = self.function(*self.shapes)
        return self

    def __call__(self, *arrays):
        assert [array.shape for array in arrays] == [shape.shape for shape in self.shapes]
        return self.ms


class ShapeDtypeStruct:
    def __init__(self, shape, dtype):
        self.shape, self.dtype = shape, dtype


def measure(kernel, iterations):
    return lambda *arrays: (None, [kernel(*arrays) + n for n in range(iterations)])


random = types.SimpleNamespace(key=lambda seed: seed, split=lambda key, n: range(n),
                               normal=lambda key, shape, dtype: ShapeDtypeStruct(shape, dtype))
numpy = module("jax.numpy", float16="f16", bfloat16="bf16")
attention_mgpu = module("attention_mgpu", TuningConfig=TuningConfig, attention=attention)
profiler = module("profiler", measure=measure)
__path__ = []
module("jax.experimental", __path__=[])
module("jax.experimental.pallas", __path__=[])
module("jax.experimental.pallas.ops", __path__=[])
module("jax.experimental.pallas.ops.gpu", attention_mgpu=attention_mgpu)
module("jax.experimental.mosaic", __path__=[])
module("jax.experimental.mosaic.gpu", profiler=profiler)
