"""Whole models of Hugging Face Transformers on flashc: those of the example."""

import importlib.util
import pathlib
import sys
import unittest

from support import DEVICES, HALF, main, torch

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "examples"))


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


if __name__ == "__main__":
    main()
