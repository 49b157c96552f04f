"""Whole models on flashc: those of the Transformers example, and the benchmark's GPT-2."""

import importlib.util
import pathlib
import sys
import unittest

from support import DEVICES, HALF, main, torch

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Beside this folder in the bundle, two folders up in the repository.
BENCHMARKS = next(path for path in (ROOT.parent / "benchmarks", ROOT.parent.parent / "benchmarks")
                  if (path / "torch_gpt2.py").exists())
sys.path[:0] = [str(ROOT / "examples"), str(BENCHMARKS)]


@unittest.skipUnless(importlib.util.find_spec("transformers"), "no Transformers")
class Transformers(unittest.TestCase):
    def compare(self, device, dtype, compiled):
        import transformers_models
        for what, eager, fused in transformers_models.compare(device, dtype, compiled):
            with self.subTest(device=device, dtype=dtype, compiled=compiled, model=what):
                self.assertLess(eager, 0.1)  # the models compute something
                self.assertLessEqual(fused, 2 * eager)

    def test_logits(self):
        for device in DEVICES:
            for dtype in HALF if device == "cuda" else (torch.bfloat16,):
                self.compare(device, dtype, False)

    def test_logits_of_compiled_models(self):
        self.compare(DEVICES[-1], torch.float16, True)

    def test_decoding(self):
        import transformers_models
        for name, same in transformers_models.tokens_agree("cpu"):
            with self.subTest(model=name):
                self.assertTrue(same)

    def test_names(self):
        """Registered is what this Transformers takes for a function of its own, not for FlashAttention."""
        from flashc_torch.huggingface import register
        import transformers
        if int(transformers.__version__.split(".")[0]) < 5:
            register("flashc")
        else:
            with self.assertRaisesRegex(ValueError, "'flashc' is one; register another, such as 'Flashc'"):
                register("flashc")


class GPT2Small(unittest.TestCase):
    @unittest.skipUnless("cuda" in DEVICES, "no GPU")
    @torch.inference_mode()
    def test_logits(self):
        import torch_gpt2
        flashc = [attention for name, attention, _ in torch_gpt2.implementations() if name == "flashc"][0]
        tokens = torch.randint(torch_gpt2.VOCABULARY, (2, 1024), generator=torch.Generator().manual_seed(0)).cuda()
        for dtype in HALF:
            torch.manual_seed(0)
            model = torch_gpt2.GPT2("small", 1024).cuda().to(dtype).eval()
            exact = torch_gpt2.GPT2("small", 1024).cuda().eval()
            exact.load_state_dict(model.state_dict())
            reference = exact(tokens, torch_gpt2.eager_attention)

            def worst(logits):
                return (logits.float() - reference).abs().max().item()

            eager = worst(model(tokens, torch_gpt2.eager_attention))
            for name, forward in (("eager", model), ("compiled", torch.compile(model, fullgraph=True))):
                with self.subTest(dtype=dtype, mode=name):
                    self.assertLessEqual(worst(forward(tokens, flashc)), 2 * eager)


class Training(unittest.TestCase):
    def test_losses(self):
        """A few steps of a small model: the losses are those of eager attention, and go down."""
        import torch_gpt2
        import torch_train
        torch_gpt2.SIZES["tiny"] = (2, 2, 64)
        for device in DEVICES:
            dtype = "bf16" if device == "cuda" else "fp32"
            options = torch_train.parse(["--steps=20", "--length=96", "--batch=4", f"--dtype={dtype}", "--rate=3e-3",
                                         "--attention=eager,flashc"])
            options.model = "tiny"
            results = torch_train.run(options, device)
            (eager, _, _), (flashc, _, _) = results["eager"], results["flashc"]
            with self.subTest(device=device):
                self.assertLess(flashc[-1], flashc[0] - 0.5)
                # What rounding makes of a step grows from step to step; wrong gradients are off by far more.
                bound = 0.05 if device == "cuda" else 0.001
                self.assertLess(max(abs(a - b) for a, b in zip(eager, flashc)), bound)
                self.assertIn("polyline", torch_train.draw(results))
                self.assertEqual(len(list(torch_train.table(results))), 3)


if __name__ == "__main__":
    main()
