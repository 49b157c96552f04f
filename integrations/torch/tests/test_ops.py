"""The operators in torch's machinery: opcheck, compile, export, autocast, streams, CUDA graphs, other copies of LLVM."""

import gc
import importlib.util
import os
import resource
import shutil
import subprocess
import sys
import sysconfig
import threading
import unittest

from support import DEVICES, check, draw, main, topleft, torch

import flashc_torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

ON_GPU = "cuda" in DEVICES


def compiler():
    """Inductor makes kernels by Triton on a GPU; on a CPU it needs a C++ compiler and Python's headers, which flashc's
    machines need not have, so that there the captured graph runs as it is."""
    return "inductor" if ON_GPU else "aot_eager"


def can_compile_on_cpu():
    return bool(shutil.which(os.environ.get("CXX", "g++"))) and os.path.exists(
        os.path.join(sysconfig.get_paths()["include"], "Python.h"))


def inputs(device, heads=4, kv_heads=4, queries=50, keys=60, dtype=torch.float16):
    return (draw(2, heads, queries, 64, device=device, dtype=dtype), draw(2, kv_heads, keys, 64, device=device, dtype=dtype),
            draw(2, kv_heads, keys, 32, device=device, dtype=dtype))


def close(output, expected):
    """The same kernels on inputs that a compiler may have rounded otherwise."""
    torch.testing.assert_close(output, expected, rtol=2e-2, atol=2e-2)


class Registration(unittest.TestCase):
    def test_opcheck(self):
        for device in DEVICES:
            q, k, v = inputs(device)
            bias = draw(1, 4, 50, 60, device=device, dtype=torch.float16)
            lengths = torch.tensor([60, 7], dtype=torch.int32, device=device)
            for arguments in ((q, k, v), (q, k, v, bias), (q, k, v, bias > 0), (q, k, v, None, lengths, "causal", 0.25),
                              (q, k[:, :1], v[:, :1], None, None, "none", None, True),
                              (q.transpose(0, 1), k.transpose(0, 1), v.transpose(0, 1))):
                with self.subTest(device=device, arguments=len(arguments)):
                    torch.library.opcheck(torch.ops.flashc.attention.default, arguments)
            q, k, v, bias = (tensor.detach().requires_grad_() for tensor in (q, k, v, bias))
            with self.subTest(device=device, gradients=True):
                torch.library.opcheck(torch.ops.flashc.attention.default, (q, k, v, bias))

    def test_both_ways_through_autograd(self):
        """Eager tensors have one of their own, which costs the host less; it does what the operator's does."""
        for device in DEVICES:
            tensors = inputs(device, kv_heads=2)
            bias = draw(1, 4, 50, 60, device=device, dtype=torch.float16)
            lengths = torch.tensor([60, 7], dtype=torch.int32, device=device)
            grads = draw(2, 4, 50, 32, device=device, dtype=torch.float16), draw(2, 4, 50, device=device, dtype=torch.float32)
            for more, wanted in (((None, None, "none"), "qkv"), ((bias, None, "none"), "qkvb"), ((bias, None, "none"), "kb"),
                                 ((None, lengths, "causal"), "v"), ((None, None, "causal"), "")):
                results = []
                for attention in flashc_torch.attention, torch.ops.flashc.attention:
                    q, k, v = leaves = [tensor.detach().requires_grad_(name in wanted)
                                        for name, tensor in zip("qkv", tensors)]
                    mask, *others = more
                    if mask is not None:
                        mask = mask.detach().requires_grad_("b" in wanted)
                    outputs = attention(q, k, v, mask, *others, 0.25, True)
                    leaves = [leaf for leaf in (*leaves, mask) if leaf is not None and leaf.requires_grad]
                    found = torch.autograd.grad(outputs, leaves, grads) if wanted else ()
                    results.append((*(output.detach() for output in outputs), *found))
                    self.assertEqual(outputs[0].requires_grad, bool(wanted))
                with self.subTest(device=device, wanted=wanted):
                    self.assertEqual(len(results[0]), 2 + len(wanted))
                    for ours, expected in zip(*results):
                        self.assertEqual((ours.shape, ours.stride(), ours.dtype),
                                         (expected.shape, expected.stride(), expected.dtype))
                        close(ours, expected)

    def test_no_second_derivative(self):
        for device in DEVICES:
            q, k, v = (tensor.requires_grad_() for tensor in inputs(device))
            gradient, = torch.autograd.grad(flashc_torch.attention(q, k, v)[0].sum(), q, create_graph=True)
            with self.subTest(device=device), self.assertRaises(RuntimeError):
                gradient.sum().backward()

    def test_meta(self):
        q, k, v = (tensor.to("meta") for tensor in inputs("cpu", heads=8, kv_heads=2))
        output, lse = flashc_torch.attention(q, k, v, enable_gqa=True)
        self.assertEqual((output.shape, output.stride(), output.dtype), ((2, 8, 50, 32), (12800, 32, 256, 1), q.dtype))
        self.assertEqual((lse.shape, lse.dtype), ((2, 8, 50), torch.float32))

    def test_lengths_on_the_device(self):
        for device in DEVICES:
            q, k, v = inputs(device)
            lengths = torch.tensor([60, 7], dtype=torch.int32, device=device)
            visible = torch.arange(60, device=device) < lengths[:, None]
            output, lse = flashc_torch.attention(q, k, v, kv_lengths=lengths)
            with self.subTest(device=device):
                check(self, output, q, k, v, visible=visible[:, None, None], lse=lse)

    def test_one_query_of_heads_that_share_keys(self):
        """Side by side in one tile, where masks and biases do not tell the heads apart."""
        for device in DEVICES:
            q, k, v = inputs(device, heads=8, kv_heads=2, queries=1)
            lengths = torch.tensor([60, 7], dtype=torch.int32, device=device)
            seen = (torch.arange(60, device=device) < lengths[:, None])[:, None, None]
            last = torch.arange(60, device=device) >= 60 - 8
            bias = draw(2, 8, 1, 60, device=device, dtype=torch.float16)
            for options, expected in (
                    ({}, {}), ({"mask": "causal"}, {}), ({"mask": "window(7, 0)"}, {"visible": last}),
                    ({"kv_lengths": lengths, "mask": "causal"}, {"visible": seen}),
                    ({"attn_mask": seen}, {"visible": seen}), ({"attn_mask": bias}, {"bias": bias}),
                    ({"attn_mask": bias[:, :1]}, {"bias": bias[:, :1]})):
                output, lse = flashc_torch.attention(q, k, v, enable_gqa=True, **options)
                with self.subTest(device=device, options=options):
                    check(self, output, q, k, v, lse=lse, **expected)

    def test_bottom_right(self):
        """The operator's masks are flashc's: causal is aligned at the last query and key."""
        for device in DEVICES:
            q, k, v = inputs(device)
            output, lse = flashc_torch.attention(q, k, v, mask="causal & window(7, 0)")
            i, j = torch.arange(50, device=device)[:, None] + 10, torch.arange(60, device=device)
            with self.subTest(device=device):
                check(self, output, q, k, v, visible=(j <= i) & (j >= i - 7), lse=lse)


class Model(torch.nn.Module):
    """Attention with a projection, as models have it."""

    def __init__(self, heads=4, kv_heads=2, dim=32):
        super().__init__()
        self.heads, self.kv_heads, self.dim = heads, kv_heads, dim
        self.project = torch.nn.Linear(heads * dim, (heads + 2 * kv_heads) * dim)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = self.project(x).view(batch, length, -1, self.dim).transpose(1, 2).split(
            [self.heads, self.kv_heads, self.kv_heads], dim=1)
        output = flashc_torch.sdpa(q, k, v, is_causal=True, enable_gqa=True)
        return output.transpose(1, 2).reshape(batch, length, -1)


class Graphs(unittest.TestCase):
    def make(self, device, dtype=torch.bfloat16):
        torch.manual_seed(0)
        return Model().to(device, dtype), draw(2, 40, 128, device=device, dtype=dtype)

    def test_compile(self):
        for device in DEVICES:
            model, x = self.make(device)
            compiled = torch.compile(model, fullgraph=True, backend=compiler())
            with self.subTest(device=device), torch.no_grad():
                close(compiled(x), model(x))

    def test_compile_with_any_length(self):
        for device in DEVICES:
            model, _ = self.make(device)
            torch._dynamo.reset()
            compiled = torch.compile(model, fullgraph=True, dynamic=True, backend=compiler())
            with torch.no_grad():
                for length in (40, 41, 97):
                    x = draw(2, length, 128, device=device, dtype=torch.bfloat16)
                    with self.subTest(device=device, length=length):
                        close(compiled(x), model(x))

    def test_compile_with_gradients_on(self):
        for device in DEVICES:
            model, x = self.make(device)
            x.requires_grad_()
            torch._dynamo.reset()
            grad = draw(2, 40, 128, device=device, dtype=torch.bfloat16)
            parameters = [x, *model.parameters()]
            output, expected = torch.compile(model, fullgraph=True, backend=compiler())(x), model(x)
            with self.subTest(device=device):
                close(output.detach(), expected.detach())
                for gradient, want in zip(torch.autograd.grad(output, parameters, grad),
                                          torch.autograd.grad(expected, parameters, grad)):
                    size = want.abs().max().item()
                    close(gradient / size, want / size)

    def test_compile_with_a_mask(self):
        for device in DEVICES:
            q, k, v = inputs(device)
            compiled = torch.compile(flashc_torch.sdpa, fullgraph=True, backend=compiler())
            for shape in ((2, 1, 50, 60), (50, 60)):
                mask = draw(*shape, device=device, dtype=torch.float32) > 0
                with self.subTest(device=device, shape=shape):
                    close(compiled(q, k, v, mask), flashc_torch.sdpa(q, k, v, mask))

    def test_traced_by_its_modes(self):
        """The operator is what a trace and fake tensors see, with gradients recorded or not; a gradient that is asked for
        inside of no_grad is not passed by."""
        for device in DEVICES:
            q, k, v = inputs(device)
            for mode in (torch.enable_grad, torch.no_grad, torch.inference_mode):
                with self.subTest(device=device, mode=mode.__name__), mode():
                    graph = make_fx(lambda q, k, v: flashc_torch.sdpa(q, k, v))(q, k, v)
                    self.assertIn("flashc.attention", graph.code)
                    with FakeTensorMode() as fake:
                        output = flashc_torch.sdpa(*(fake.from_tensor(tensor) for tensor in (q, k, v)))
                    self.assertIsInstance(output, FakeTensor)
            with self.subTest(device=device), torch.no_grad(), self.assertRaises(RuntimeError):
                torch.func.grad(lambda q: flashc_torch.sdpa(q, k, v).float().sum())(q)

    def test_export(self):
        for device in DEVICES:
            model, x = self.make(device)
            length = torch.export.Dim("length", min=2, max=4096)
            with torch.no_grad():
                program = torch.export.export(model, (x,), dynamic_shapes={"x": {1: length}})
                longer = draw(2, 77, 128, device=device, dtype=torch.bfloat16)
                with self.subTest(device=device):
                    self.assertIn("flashc.attention", program.graph_module.code)
                    close(program.module()(longer), model(longer))

    def test_autocast(self):
        """float32 tensors are cast to the region's dtype, in eager mode and in a compiled function, also by one dtype after
        another."""
        for device in DEVICES:
            q, k, v = inputs(device, dtype=torch.float32)
            bias = draw(1, 1, 50, 60, device=device, dtype=torch.float32)
            backend = "inductor" if ON_GPU or can_compile_on_cpu() else "aot_eager"
            for dtype in (torch.float16, torch.bfloat16):
                expected = flashc_torch.sdpa(*(tensor.to(dtype) for tensor in (q, k, v, bias)))

                def attention(q, k, v, bias):
                    return flashc_torch.attention(q, k, v, bias)[0]

                for name, function in (
                        ("the operator", lambda *arguments: torch.ops.flashc.attention(*arguments)[0]),
                        ("sdpa", flashc_torch.sdpa), ("attention", attention),
                        ("compiled sdpa", torch.compile(flashc_torch.sdpa, fullgraph=True, backend=backend)),
                        ("compiled attention", torch.compile(attention, fullgraph=True, backend=backend))):
                    with self.subTest(device=device, dtype=dtype, function=name), torch.autocast(device, dtype):
                        output = function(q, k, v, bias)
                        self.assertEqual(output.dtype, dtype)
                        close(output, expected)
            with torch.autocast(device, enabled=False), self.subTest(device=device, mode="off"):
                if device == "cpu":
                    self.assertEqual(flashc_torch.sdpa(q, k, v).dtype, torch.float32)

    def test_autocast_is_in_the_graph(self):
        """What dynamo traces has the casts, so that the key of each cache of compiled graphs has their dtype."""
        for device in DEVICES:
            q, k, v = inputs(device, dtype=torch.float32)
            for dtype in (torch.float16, torch.bfloat16):
                traced = []

                def backend(graph, _):
                    traced.append(graph.code)
                    return graph

                torch._dynamo.reset()
                with self.subTest(device=device, dtype=dtype), torch.autocast(device, dtype):
                    torch.compile(flashc_torch.sdpa, fullgraph=True, backend=backend)(q, k, v)
                    self.assertEqual([code.count(f".to({dtype})") for code in traced], [3], traced)


class Process(unittest.TestCase):
    def test_threads(self):
        """Threads that have done nothing with CUDA before, which compile the kernel too."""
        for device in DEVICES:
            q, k, v = inputs(device)
            outputs = []

            def run():
                outputs.extend(flashc_torch.sdpa(q, k, v, scale=0.2) for _ in range(20))

            threads = [threading.Thread(target=run) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            expected = flashc_torch.sdpa(q, k, v, scale=0.2)
            with self.subTest(device=device):
                self.assertEqual(len(outputs), 160)
                self.assertTrue(all(torch.equal(output, expected) for output in outputs))

    def test_memory_does_not_grow(self):
        q, k, v = (tensor[:, :, :5] for tensor in inputs("cpu"))
        bias = draw(5, 5, device="cpu", dtype=torch.float16)

        def most(times):
            for _ in range(times):
                flashc_torch.sdpa(q, k, v, bias)
            gc.collect()
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

        before = most(1000)
        self.assertLess(most(20000) - before, 512, "KiB in 20000 calls")

    def other_llvm(self, code):
        """flashc in a process that has used another LLVM, and uses it again."""
        script = f"import sys, torch; sys.path[:0] = {sys.path!r}\n{code}\nuse()\n" + (
            "import flashc_torch\n"
            "device = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
            "q = torch.randn(1, 2, 100, 64, device=device).half()\n"
            "o = flashc_torch.sdpa(q, q, q, is_causal=True)\n"
            "r = torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True)\n"
            "assert (o - r).abs().max() < 1e-2, (o - r).abs().max()\n"
            "use()\nprint('right')\n")
        run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        self.assertEqual((run.returncode, run.stdout.strip()), (0, "right"), run.stderr)

    @unittest.skipUnless(importlib.util.find_spec("triton"), "no Triton")
    def test_beside_triton(self):
        self.other_llvm("""
import os, pathlib, tempfile, triton, triton.language as tl
from triton._C import libtriton
path = pathlib.Path(tempfile.mkdtemp(), "kernel.py")
path.write_text('''
import triton, triton.language as tl
@triton.jit
def double(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)
''')
sys.path.insert(0, str(path.parent))
import kernel
os.environ["TRITON_CACHE_DIR"] = str(path.parent)
count = 0
def use():
    # Compiles through Triton's LLVM each time; runs it where there is a GPU.
    global count
    count += 1
    if torch.cuda.is_available():
        x = torch.ones(1000, device="cuda")
        kernel.double[(1,)](x, 1000 , BLOCK=1024 * count)
        assert (x == 2).all()
    else:
        from triton.backends.compiler import GPUTarget
        source = triton.compiler.ASTSource(kernel.double, signature={"x": "*fp32", "n": "i32", "BLOCK": "constexpr"},
                                           constexprs={"BLOCK": 1024 * count})
        assert ".entry double" in triton.compile(source, target=GPUTarget("cuda", 80, 32)).asm["ptx"]
""")

    @unittest.skipUnless(importlib.util.find_spec("llvmlite"), "no llvmlite")
    def test_beside_llvmlite(self):
        self.other_llvm("""
import llvmlite.binding as llvm
def use():
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly("define i32 @f() { ret i32 7 }")
    engine = llvm.create_mcjit_compiler(module, llvm.Target.from_default_triple().create_target_machine())
    engine.finalize_object()
    import ctypes
    assert ctypes.CFUNCTYPE(ctypes.c_int)(engine.get_function_address("f"))() == 7
""")


@unittest.skipUnless(ON_GPU, "no GPU")
class Cuda(unittest.TestCase):
    def test_current_stream(self):
        """Launched on torch's current stream: a long kernel before it on that stream is waited for."""
        q, k, v = inputs("cuda")
        expected = flashc_torch.sdpa(q, k, v)
        stream, late = torch.cuda.Stream(), torch.zeros_like(v)
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(200_000_000)
            late.copy_(v)
            output = flashc_torch.sdpa(q, k, late)
        self.assertFalse(stream.query(), "the call waited for the stream")
        stream.synchronize()
        self.assertTrue(torch.equal(output, expected))

    def test_graph(self):
        """Captured once, replayed on new inputs and key lengths."""
        capacity = 4096
        q = draw(2, 8, 1, 64, device="cuda", dtype=torch.bfloat16)
        k, v = (draw(2, 2, capacity, 64, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        lengths = torch.full((2,), 128, dtype=torch.int32, device="cuda")

        def run():
            return flashc_torch.attention(q, k, v, kv_lengths=lengths, enable_gqa=True)

        run()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            output, lse = run()
        for length in (1, 2, 63, 64, 65, 128, 1000, 4095, 4096):
            lengths.copy_(torch.tensor([length, max(length // 2, 1)], dtype=torch.int32))
            q.copy_(draw(2, 8, 1, 64, device="cuda", dtype=torch.bfloat16))
            graph.replay()
            visible = (torch.arange(capacity, device="cuda") < lengths[:, None])[:, None, None]
            with self.subTest(length=length):
                check(self, output, q, k, v, visible=visible, lse=lse)

    def test_graph_of_a_first_call(self):
        """A kernel that is compiled and loaded while a stream is captured."""
        q = draw(1, 2, 300, 80, device="cuda", dtype=torch.float16)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            output = flashc_torch.sdpa(q, q, q, is_causal=True)
        for _ in range(2):
            q.copy_(draw(1, 2, 300, 80, device="cuda", dtype=torch.float16))
            graph.replay()
            check(self, output, q, q, q, visible=topleft(300, 300, "cuda"))

    def test_compiled_with_cuda_graphs(self):
        torch.manual_seed(0)
        model = Model().to("cuda", torch.bfloat16)
        compiled = torch.compile(model, fullgraph=True, mode="reduce-overhead")
        with torch.no_grad():
            for _ in range(4):
                x = draw(2, 40, 128, device="cuda", dtype=torch.bfloat16)
                close(compiled(x).clone(), model(x))

    @unittest.skipUnless(torch.cuda.device_count() > 1, "one GPU")
    def test_second_device(self):
        q, k, v = inputs("cuda:1")
        check(self, flashc_torch.sdpa(q, k, v), q, k, v)
        self.assertEqual(torch.cuda.current_device(), 0)


if __name__ == "__main__":
    main()
