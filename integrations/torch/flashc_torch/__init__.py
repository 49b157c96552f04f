"""flashc in PyTorch: attention kernels compiled when they are asked for.

    import flashc_torch
    output = flashc_torch.sdpa(query, key, value, is_causal=True)

`sdpa` takes what torch.nn.functional.scaled_dot_product_attention takes. Below it is the operator
`torch.ops.flashc.attention`, which also gives the log-sum-exp and takes flashc's masks and lengths in device memory. Both
work in eager mode, torch.compile, torch.export, autocast and CUDA graphs, and have gradients: of query, key, value and a
float mask, through the output and the log-sum-exp.
"""

import pathlib

import torch

_LIBRARY = pathlib.Path(__file__).with_name("libflashc_torch.so")


def _version(text):
    return tuple(int(part) for part in text.split("+")[0].split(".")[:2])


if _version(torch.__version__) < (2, 10):
    raise ImportError(f"flashc_torch needs torch 2.10 or newer, for its stable ABI, but this is {torch.__version__}")
if not _LIBRARY.exists():
    raise ImportError(f"{_LIBRARY} is missing: build integrations/torch with CMake and import flashc_torch from its "
                      "build folder")
torch.ops.load_library(_LIBRARY)

from flashc_torch.ops import attention  # noqa: E402  (needs the library)
from flashc_torch.sdpa import sdpa  # noqa: E402

__all__ = ["attention", "sdpa"]
