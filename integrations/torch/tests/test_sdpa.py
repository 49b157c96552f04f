"""flashc_torch.sdpa against torch's scaled_dot_product_attention: numbers, meaning, errors."""

import unittest

from support import DEVICES, HALF, check, check_gradients, draw, dtypes, main, topleft, torch

import flashc_torch
from flashc_torch import sdpa
from torch.nn.functional import scaled_dot_product_attention as torch_sdpa


def cases(few=False):
    """A subtest's parameters for each device and dtype; `few`: one dtype on a CPU, where a kernel's compilation is most
    of a test's time."""
    for device in DEVICES:
        for dtype in (torch.float16,) if few and device == "cpu" else dtypes(device):
            yield {"device": device, "dtype": dtype}


class Numbers(unittest.TestCase):
    def qkv(self, like, batch=2, heads=4, kv_heads=4, queries=150, keys=170, dim=64, value_dim=None):
        return (draw(batch, heads, queries, dim, **like), draw(batch, kv_heads, keys, dim, **like),
                draw(batch, kv_heads, keys, value_dim or dim, **like))

    def test_plain(self):
        for like in cases():
            with self.subTest(**like):
                q, k, v = self.qkv(like)
                check(self, sdpa(q, k, v), q, k, v)

    def test_agrees_with_torch(self):
        """Both follow the rule, so they differ by no more than twice what it allows; here: a few units of the output."""
        for like in cases():
            with self.subTest(**like):
                q, k, v = self.qkv(like)
                difference = (sdpa(q, k, v, is_causal=True) - torch_sdpa(q, k, v, is_causal=True)).abs().max().item()
                self.assertLessEqual(difference, 8 * torch.finfo(like["dtype"]).eps)

    def test_causal_is_top_left(self):
        for like in cases():
            for queries, keys in ((128, 128), (70, 200), (200, 70), (1, 33)):
                with self.subTest(**like, queries=queries, keys=keys):
                    q, k, v = self.qkv(like, queries=queries, keys=keys)
                    check(self, sdpa(q, k, v, is_causal=True), q, k, v, visible=topleft(queries, keys, like["device"]))

    def test_head_dims(self):
        for device in DEVICES:
            like = {"device": device, "dtype": torch.float16}
            for dim, value_dim in ((1, 1), (7, 5), (40, 40), (65, 33), (128, 128), (192, 128), (64, 256), (256, 256)):
                with self.subTest(**like, dim=dim, value_dim=value_dim):
                    q, k, v = self.qkv(like, heads=2, kv_heads=2, dim=dim, value_dim=value_dim)
                    check(self, sdpa(q, k, v), q, k, v)

    def test_grouped_heads(self):
        for like in cases(few=True):
            for heads, kv_heads in ((8, 2), (6, 1)):
                with self.subTest(**like, heads=heads, kv_heads=kv_heads):
                    q, k, v = self.qkv(like, heads=heads, kv_heads=kv_heads)
                    check(self, sdpa(q, k, v, is_causal=True, enable_gqa=True), q, k, v,
                          visible=topleft(150, 170, like["device"]))

    def test_scale(self):
        for device in DEVICES:
            q, k, v = self.qkv({"device": device, "dtype": torch.float16})
            for scale in (0.5, -0.1, 0.0, 1):
                with self.subTest(device=device, scale=scale):
                    check(self, sdpa(q, k, v, scale=scale), q, k, v, scale=scale)

    def test_bias(self):
        """A float mask of each shape that broadcasts, of the query's dtype and of float32."""
        for like in cases(few=True):
            q, k, v = self.qkv(like)
            for shape in ((150, 170), (1, 170), (150, 1), (2, 1, 1, 170), (4, 150, 170), (2, 4, 150, 170), (1,)):
                for dtype in {like["dtype"], torch.float32}:
                    with self.subTest(**like, shape=shape, mask=dtype):
                        bias = draw(*shape, device=like["device"], dtype=dtype)
                        check(self, sdpa(q, k, v, bias), q, k, v, bias=bias)

    def test_bias_that_is_expanded_or_transposed(self):
        for like in cases(few=True):
            with self.subTest(**like):
                q, k, v = self.qkv(like)
                bias = draw(170, 150, **like).T.expand(2, 4, 150, 170)
                check(self, sdpa(q, k, v, bias), q, k, v, bias=bias)
                wide = draw(2, 1, 150, 300, **like)[..., :170]
                check(self, sdpa(q, k, v, wide), q, k, v, bias=wide)

    def test_bias_of_infinity_hides_keys(self):
        for like in cases(few=True):
            with self.subTest(**like):
                q, k, v = self.qkv(like)
                visible = draw(150, 170, device=like["device"], dtype=torch.float32) > 0
                bias = torch.zeros(150, 170, **like).masked_fill(~visible, float("-inf"))
                check(self, sdpa(q, k, v, bias), q, k, v, visible=visible)

    def test_bool_mask(self):
        for like in cases():
            q, k, v = self.qkv(like)
            for shape in ((150, 170), (2, 1, 1, 170), (4, 150, 1), (2, 4, 150, 170)):
                with self.subTest(**like, shape=shape):
                    mask = draw(*shape, device=like["device"], dtype=torch.float32) > -0.5
                    check(self, sdpa(q, k, v, mask), q, k, v, visible=mask)

    def test_rows_without_a_key_are_zero(self):
        """On each device; torch gives zeros on a CPU, and on a GPU what its backend does. The log-sum-exp is -inf."""
        for like in cases(few=True):
            with self.subTest(**like):
                q, k, v = self.qkv(like)
                mask = draw(150, 170, device=like["device"], dtype=torch.float32) > 0
                mask[::3] = False
                output, lse = flashc_torch.attention(q, k, v, mask[None, None])
                self.assertTrue(torch.equal(sdpa(q, k, v, mask), output))
                self.assertTrue((output[:, :, ::3] == 0).all().item())
                check(self, output, q, k, v, visible=mask, lse=lse)

    def test_long(self):
        for device in DEVICES:
            like = {"device": device, "dtype": torch.bfloat16}
            length = 2048 if device == "cuda" else 700
            q, k, v = self.qkv(like, batch=1, heads=3, kv_heads=3, queries=length, keys=length, dim=128)
            with self.subTest(**like):
                check(self, sdpa(q, k, v, is_causal=True), q, k, v, visible=topleft(length, length, device))


class Layouts(unittest.TestCase):
    def test_strides(self):
        """Views that a kernel reads as they are, and views that it must copy: all give what contiguous tensors give."""
        for device in DEVICES:
            like = {"device": device, "dtype": torch.float16}
            packed = draw(2, 90, 3, 4, 64, **like)
            views = {
                "batch, length, heads": [t.transpose(1, 2) for t in packed.unbind(2)],
                "last dimension not of stride 1": [draw(2, 4, 64, 90, **like).transpose(2, 3) for _ in range(3)],
                "every second row": [draw(2, 4, 180, 64, **like)[:, :, ::2] for _ in range(3)],
                "rows of 65": [draw(2, 4, 90, 65, **like)[..., :64] for _ in range(3)],
                "an odd address": [draw(2 * 4 * 90 * 64 + 1, **like)[1:].view(2, 4, 90, 64) for _ in range(3)],
                "an expanded batch": [draw(1, 4, 90, 64, **like).expand(2, -1, -1, -1) for _ in range(3)],
                "expanded heads": [draw(2, 1, 90, 64, **like).expand(-1, 4, -1, -1) for _ in range(3)],
                "one batch, strange strides": [draw(4, 90, 64, **like).as_strided((1, 4, 90, 64), (7, 90 * 64, 64, 1))
                                               for _ in range(3)],
            }
            for name, (q, k, v) in views.items():
                with self.subTest(device=device, layout=name):
                    output = sdpa(q, k, v, is_causal=True)
                    expected = sdpa(q.contiguous(), k.contiguous(), v.contiguous(), is_causal=True)
                    self.assertTrue(torch.equal(output, expected))
                    check(self, output, q, k, v, visible=topleft(90, 90, device))

    def test_output_is_batch_length_heads(self):
        """What models do next, transpose(1, 2).reshape(batch, length, -1), copies nothing."""
        q = draw(2, 4, 50, 64, device=DEVICES[-1], dtype=torch.float16)
        self.assertTrue(sdpa(q, q, q).transpose(1, 2).is_contiguous())

    def test_ranks(self):
        for device in DEVICES:
            like = {"device": device, "dtype": torch.float16}
            for shape in ((20, 64), (3, 20, 64), (2, 3, 4, 20, 64)):
                with self.subTest(device=device, shape=shape):
                    q, k, v = (draw(*shape, **like) for _ in range(3))
                    mask = draw(*shape[:-2], 20, 20, **like) > 0
                    output = sdpa(q, k, v, mask)
                    self.assertEqual(output.shape, torch_sdpa(q, k, v, mask).shape)
                    check(self, output.unsqueeze(0), *(t.unsqueeze(0) for t in (q, k, v)), visible=mask)

    def test_broadcast_batch_and_heads(self):
        for device in DEVICES:
            like = {"device": device, "dtype": torch.float16}
            q, k, v = draw(1, 4, 20, 64, **like), draw(3, 1, 30, 64, **like), draw(3, 1, 30, 64, **like)
            with self.subTest(device=device):
                check(self, sdpa(q, k, v), q.expand(3, -1, -1, -1), k, v)

    def test_nothing(self):
        for device in DEVICES:
            like = {"device": device, "dtype": torch.float16}
            for batch, heads, queries, keys in ((0, 2, 3, 4), (2, 0, 3, 4), (2, 2, 0, 4), (2, 2, 3, 0)):
                with self.subTest(device=device, shape=(batch, heads, queries, keys)):
                    q = draw(batch, heads, queries, 64, **like)
                    k = draw(batch, heads, keys, 64, **like)
                    output, lse = flashc_torch.attention(q, k, k)
                    self.assertEqual(output.shape, q.shape)
                    self.assertTrue((output == 0).all().item())
                    self.assertTrue((lse == float("-inf")).all().item())


class Errors(unittest.TestCase):
    def raises(self, error, text, *arguments, **keywords):
        with self.assertRaisesRegex(error, text):
            sdpa(*arguments, **keywords)

    def test_arguments(self):
        for device in DEVICES:
            like = {"device": device, "dtype": torch.float16}
            q = draw(2, 4, 10, 64, **like)
            mask = torch.ones(10, 10, dtype=torch.bool, device=device)
            with self.subTest(device=device):
                self.raises(ValueError, "dropout_p is 0.1, .*pass 0.0", q, q, q, dropout_p=0.1)
                self.raises(ValueError, "attn_mask is given and is_causal", q, q, q, mask, is_causal=True)
                self.raises(ValueError, r"attn_mask has shape \(10, 11\)", q, q, q, torch.zeros(10, 11, **like))
                self.raises(ValueError, "4 heads and key 2; pass enable_gqa", q, q[:, :2], q[:, :2])
                self.raises(ValueError, "key has 4 heads and value 2", q, q, q[:, :2])
                self.raises(RuntimeError, "no multiple of the 3", q, q[:, :3], q[:, :3], enable_gqa=True)
                self.raises(RuntimeError, "head dims must be equal", q, q[..., :32], q)
                self.raises(RuntimeError, "lengths must be equal", q, q, q[:, :, :5])
                self.raises(RuntimeError, "cast them to one dtype", q, q.bfloat16(), q)
                self.raises(RuntimeError, "attn_mask is Long", q, q, q, mask.long())
                self.raises(RuntimeError, "cast it", q.double(), q.double(), q.double())
                wide = draw(1, 1, 4, 257, **like)
                self.raises(RuntimeError, "257", wide, wide, wide)

    def test_op(self):
        for device in DEVICES:
            q = draw(2, 4, 10, 64, device=device, dtype=torch.float16)
            with self.subTest(device=device):
                with self.assertRaisesRegex(RuntimeError, "takes .batch, heads, length, head dim."):
                    flashc_torch.attention(q[0], q, q)
                with self.assertRaisesRegex(RuntimeError, "diagonal"):
                    flashc_torch.attention(q, q, q, mask="diagonal")
                with self.assertRaisesRegex(RuntimeError, "must be contiguous int32"):
                    flashc_torch.attention(q, q, q, kv_lengths=torch.ones(2, device=device))

    @unittest.skipUnless("cuda" in DEVICES, "no GPU")
    def test_float32_on_a_gpu(self):
        q = draw(1, 1, 10, 64, device="cuda", dtype=torch.float32)
        self.raises(RuntimeError, "cast query, key and value, or use torch.autocast", q, q, q)

    @unittest.skipUnless("cuda" in DEVICES, "no GPU")
    def test_two_devices(self):
        q = draw(1, 1, 10, 64, device="cuda", dtype=torch.float16)
        self.raises(RuntimeError, "key is on another device", q, q.cpu(), q)


class Gradients(unittest.TestCase):
    def check(self, like, function, mask=None, visible=None, shape=(2, 4, 2, 70, 90, 64, 64), wanted=None):
        """`function(q, k, v, mask)` of tensors (batch, heads, kv heads, queries, keys, dim, value dim)."""
        batch, heads, kv_heads, queries, keys, dim, value_dim = shape
        q, k, v = (draw(batch, h, length, d, **like).requires_grad_() for h, length, d in (
            (heads, queries, dim), (kv_heads, keys, dim), (kv_heads, keys, value_dim)))
        tensors = [q, k, v]
        bias = mask if mask is not None and mask.is_floating_point() else None
        if bias is not None and bias.requires_grad:
            tensors.append(bias)
        grad = draw(batch, heads, queries, value_dim, **like)
        check_gradients(self, lambda *tensors: function(*tensors[:3], mask), tensors, [grad], q, k, v, bias=bias,
                        visible=visible)

    def test_plain(self):
        for like in cases():
            with self.subTest(**like):
                self.check(like, lambda q, k, v, _: sdpa(q, k, v, enable_gqa=True))

    def test_causal(self):
        for like in cases():
            for queries, keys in ((70, 90), (90, 70)):
                with self.subTest(**like, queries=queries):
                    self.check(like, lambda q, k, v, _: sdpa(q, k, v, is_causal=True, enable_gqa=True),
                               visible=topleft(queries, keys, like["device"]), shape=(2, 4, 2, queries, keys, 64, 64))

    def test_head_dims(self):
        for like in cases(few=True):
            for dims in ((7, 5), (40, 40), (128, 128), (192, 128), (256, 256)):
                with self.subTest(**like, dims=dims):
                    self.check(like, lambda q, k, v, _: sdpa(q, k, v), shape=(1, 2, 2, 70, 90, *dims))

    def test_masks(self):
        """Bool masks, and float ones that have no gradient."""
        for like in cases(few=True):
            for shape in ((70, 90), (2, 1, 1, 90), (4, 70, 90)):
                with self.subTest(**like, shape=shape):
                    mask = draw(*shape, device=like["device"], dtype=torch.float32) > -0.5
                    self.check(like, lambda q, k, v, m: sdpa(q, k, v, m, enable_gqa=True), mask, visible=mask)
                    bias = draw(*shape, device=like["device"], dtype=torch.float32)
                    self.check(like, lambda q, k, v, m: sdpa(q, k, v, m, enable_gqa=True), bias)

    def test_bias(self):
        """A float mask's own gradient, of each shape that broadcasts."""
        for like in cases(few=True):
            for shape in ((2, 4, 70, 90), (1, 1, 70, 90), (1, 4, 1, 90)):
                for dtype in {like["dtype"], torch.float32}:
                    with self.subTest(**like, shape=shape, mask=dtype):
                        bias = draw(*shape, device=like["device"], dtype=dtype).requires_grad_()
                        self.check(like, lambda *tensors: sdpa(*tensors, enable_gqa=True), bias)

    def test_bias_that_is_expanded(self):
        for like in cases(few=True):
            with self.subTest(**like):
                q, k, v = (draw(2, 4, 30, 64, **like) for _ in range(3))
                bias = draw(1, 4, 30, 30, **like).requires_grad_()
                grad = draw(2, 4, 30, 64, **like)
                once, = torch.autograd.grad(sdpa(q, k, v, bias), bias, grad)
                expanded, = torch.autograd.grad(sdpa(q, k, v, bias.expand(2, 4, 30, 30)), bias, grad)
                size = once.abs().max()
                self.assertLessEqual((once - expanded).abs().max() / size, 4 * torch.finfo(like["dtype"]).eps)

    def test_log_sum_exp(self):
        """A gradient of the second output, with the first's and alone."""
        for like in cases(few=True):
            q, k, v = (draw(2, 4, 50, 64, **like).requires_grad_() for _ in range(3))
            grad, grad_lse = draw(2, 4, 50, 64, **like), draw(2, 4, 50, device=like["device"], dtype=torch.float32)
            with self.subTest(**like):
                check_gradients(self, lambda q, k, v: flashc_torch.attention(q, k, v), [q, k, v], [grad, grad_lse], q, k, v)
                lse = flashc_torch.attention(q, k, v)[1]
                dv, = torch.autograd.grad(lse, v, grad_lse, retain_graph=True)
                self.assertTrue((dv == 0).all().item())

    def test_layouts(self):
        """Views and a broadcast gradient give what contiguous tensors give."""
        for like in cases(few=True):
            with self.subTest(**like):
                packed = draw(2, 40, 3, 4, 64, **like).requires_grad_()
                q, k, v = packed.permute(2, 0, 3, 1, 4)
                sdpa(q, k, v).sum().backward()
                views, packed.grad = packed.grad, None
                sdpa(q.contiguous(), k.contiguous(), v.contiguous()).backward(torch.ones_like(q))
                self.assertTrue(torch.equal(views, packed.grad))

    def test_nothing_to_sum_up(self):
        for like in cases(few=True):
            for queries, keys in ((0, 5), (5, 0)):
                with self.subTest(**like, queries=queries):
                    q, k = (draw(1, 2, length, 64, **like).requires_grad_() for length in (queries, keys))
                    sdpa(q, k, k).sum().backward()
                    self.assertEqual((q.grad.abs().sum().item(), k.grad.abs().sum().item()), (0, 0))

    def test_deterministic(self):
        for like in cases(few=True):
            q, k, v = (draw(2, 4, 300, 64, **like).requires_grad_() for _ in range(3))
            grad = draw(2, 4, 300, 64, **like)
            torch.use_deterministic_algorithms(True)
            try:
                first = torch.autograd.grad(sdpa(q, k, v), (q, k, v), grad)
                with self.subTest(**like):
                    for _ in range(10):
                        again = torch.autograd.grad(sdpa(q, k, v), (q, k, v), grad)
                        self.assertTrue(all(map(torch.equal, first, again)))
            finally:
                torch.use_deterministic_algorithms(False)

    def test_errors(self):
        q = draw(1, 2, 10, 64, device="cpu", dtype=torch.float16)
        output, lse = flashc_torch.attention(q, q, q)
        backward = torch.ops.flashc.attention_backward
        rest = (None, None, "none", None, False)
        with self.assertRaisesRegex(RuntimeError, r"grad_output is Half of shape \(1, 2, 9, 64\), but must be Half of shape "
                                    r"\(1, 2, 10, 64\)"):
            backward(output[:, :, 1:], None, q, q, q, output, lse, *rest)
        with self.assertRaisesRegex(RuntimeError, "lse is Half of shape .* but must be Float"):
            backward(output, None, q, q, q, output, lse.half(), *rest)
        with self.assertRaisesRegex(RuntimeError, "a gradient of attn_mask is asked for, but there is none"):
            backward(output, None, q, q, q, output, lse, *rest, True)


if __name__ == "__main__":
    main()
