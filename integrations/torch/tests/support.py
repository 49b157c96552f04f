"""What the tests share: the devices, and the error rule."""

import os
import sys
import tempfile
import unittest

try:
    import torch
except ImportError:
    print(f"skipped: {os.path.basename(sys.argv[0])} ({sys.executable} finds no torch)\n0 passed, 0 failed, 1 skipped")
    sys.exit(0)

# Kernels of these tests are compiled by these tests.
os.environ.setdefault("FLASHC_CACHE_DIR", tempfile.mkdtemp(prefix="flashc-torch-"))

import flashc_torch  # noqa: E402

DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])
HALF = (torch.float16, torch.bfloat16)


def dtypes(device):
    """What flashc computes in on a device."""
    return HALF if device == "cuda" else (*HALF, torch.float32)


def draw(*shape, device, dtype, seed=[0]):
    """Fresh random numbers each time, the same ones in each run."""
    seed[0] += 1
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed[0])).to(device, dtype)


def check(test, output, query, key, value, bias=None, visible=None, scale=None, lse=None):
    """flashc's error rule (include/flashc/Reference/Check.h): per row, the error against fp64 is at most twice that of
    the unfused computation in the same precision, plus the rounding that is derived there. `visible` is bool; `bias` is
    added to the scores. Shapes are broadcast; key heads are repeated."""
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    group = query.shape[-3] // max(key.shape[-3], 1)
    key, value = (tensor.repeat_interleave(group, dim=-3) for tensor in (key, value))

    def scores(dtype):
        s = query.to(dtype) @ key.to(dtype).transpose(-1, -2) * scale
        s = s if bias is None else s + bias.to(dtype)
        return s if visible is None else s.masked_fill(~visible, float("-inf"))

    def softmax(s):
        return torch.softmax(s, -1).nan_to_num(0.0)  # a row without a key

    exact = softmax(scores(torch.float64))
    v = value.double()
    reference = exact @ v
    unfused = (softmax(scores(torch.float32)).to(query.dtype).float() @ value.float()).to(query.dtype)
    unit = torch.finfo(query.dtype).eps / 2
    error = (output.double() - reference).abs().amax(-1)
    allowed = 2 * (unfused.double() - reference).abs().amax(-1)
    size = query.double().norm(dim=-1) * key.double().norm(dim=-1).amax(-1, keepdim=True) * abs(scale)
    if bias is not None:  # added in f32 too
        size = size + bias.double().masked_fill(torch.isinf(bias), 0).abs().amax()
    r = 2 ** -22 * (1 + size)
    norm2 = ((exact ** 2) @ (v ** 2)).sqrt().amax(-1)
    norm1 = (exact @ v.abs()).amax(-1)
    allowed += 2 * unit * (reference.abs().amax(-1) + norm2) + r * norm1
    test.assertFalse(output.isnan().any().item(), "there are NaN in the output")
    worst = (error - allowed).max().item() if error.numel() else 0
    test.assertLessEqual(worst, 0, f"an error is {worst:.3e} over what the rule allows; the largest is {error.max():.3e}"
                         if error.numel() else "")
    if lse is not None:
        want = torch.logsumexp(scores(torch.float64), -1)
        finite = want.isfinite()
        test.assertTrue(torch.equal(lse.double()[~finite], want[~finite]), "lse of rows without a key")
        theirs = torch.logsumexp(scores(torch.float32), -1).double()
        off = (lse.double() - want).abs() - 2 * (theirs - want).abs() - 2 ** -23 * want.abs() - r
        test.assertLessEqual(off[finite].max().item() if finite.any() else 0, 0, "lse")


def check_gradients(test, function, tensors, grad_outputs, query, key, value, bias=None, visible=None):
    """The gradients of `function(*tensors)`, which are among query, key, value and bias, beside fp64's: the error is at most
    twice that of the unfused computation in the same precision, plus the rounding of the result, of P and dS, and of scores
    and LSE in f32. `grad_outputs` are those of O and, if there are two, of LSE."""
    outputs = function(*tensors)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    got = torch.autograd.grad(outputs[:len(grad_outputs)], tensors, grad_outputs)

    def unfused(dtype, rounded):
        leaves = [tensor.detach().to(dtype).requires_grad_() for tensor in tensors]
        q, k, v, b = (next((leaf for leaf, tensor in zip(leaves, tensors) if tensor is given),
                           None if given is None else given.to(dtype)) for given in (query, key, value, bias))
        group = q.shape[1] // k.shape[1]
        k, v = (tensor.repeat_interleave(group, dim=1) for tensor in (k, v))
        s = q @ k.transpose(-1, -2) * query.shape[-1] ** -0.5
        s = s if b is None else s + b
        if visible is not None:
            s = s.masked_fill(~visible, float("-inf"))
        lse = torch.logsumexp(s, -1, keepdim=True)
        p = torch.exp(s - lse.masked_fill(lse == float("-inf"), 0)) if visible is not None else torch.exp(s - lse)
        p = p.to(rounded).to(dtype)
        results = (p @ v, lse[..., 0])[:len(grad_outputs)]
        # dS passes through the type of the tensors too.
        return torch.autograd.grad(results, leaves, [grad.to(dtype) for grad in grad_outputs])

    reach = query.double().norm(dim=-1).max() * key.double().norm(dim=-1).max() * query.shape[-1] ** -0.5
    r = 2 ** -22 * (1 + reach.item())  # of a score in f32, as in `check`; LSE's is as large, and P has both
    exact = unfused(torch.float64, torch.float64)
    same = unfused(torch.float32, query.dtype)
    for tensor, gradient, want, theirs in zip(tensors, got, exact, same):
        test.assertEqual((gradient.shape, gradient.dtype), (tensor.shape, tensor.dtype))
        test.assertFalse(gradient.isnan().any().item(), "there are NaN in a gradient")
        size = want.abs().max()
        unit = torch.finfo(query.dtype).eps / 2 + torch.finfo(tensor.dtype).eps / 2
        allowed = 2 * (theirs.to(tensor.dtype).double() - want).abs().max() + (2 * unit + 4 * r) * size
        error = (gradient.double() - want).abs().max()
        test.assertLessEqual(error.item(), allowed.item(), f"of a tensor of shape {tuple(tensor.shape)}")


def topleft(queries, keys, device):
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril()


def main():
    """Run the tests of the program. Its last lines name what failed and what was skipped, and count, as run_tests.py
    reads them."""
    result = unittest.main(module="__main__", exit=False).result
    # A test fails once, however many of its subtests do.
    failed = sorted({getattr(test, "test_case", test).id() for test, _ in result.failures + result.errors})
    skipped = [f"{test.id()} ({reason})" for test, reason in result.skipped]
    program = os.path.basename(sys.argv[0])
    for name in skipped:
        print(f"skipped: {program}: {name.removeprefix('__main__.')}")
    for name in failed:
        print(f"FAILED: {program}: {name.removeprefix('__main__.')}")
    print(f"{result.testsRun - len(failed) - len(skipped)} passed, {len(failed)} failed, {len(skipped)} skipped")
    sys.exit(bool(failed))
