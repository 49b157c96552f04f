"""Who is timed by compare.py: each has `times(cell)`, a list of (impl, milliseconds, or nan where it could not run).

flashc must run; what goes wrong with a peer becomes a note, once for each reason, and nan.
"""
import csv
import math
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time

DEVICE = "cuda"
HERE = os.path.dirname(os.path.abspath(__file__))
SDPA = {"fa2": "FLASH_ATTENTION", "cudnn": "CUDNN_ATTENTION", "efficient": "EFFICIENT_ATTENTION"}


class Ended(Exception):
    """A process has ended or does not answer."""


class Process:
    """A program that answers a line with CSV lines and one that says `end`."""

    def __init__(self, command, patience=None):
        self.patience = patience  # seconds to wait for a line; None: for ever
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.strip())
        self.lines.put(None)

    def ask(self, words):
        try:
            self.process.stdin.write(words + "\n")
            self.process.stdin.flush()
        except OSError:
            raise Ended("it ended early: look at its message above") from None
        found = []
        while True:
            try:
                line = self.lines.get(timeout=self.patience)
            except queue.Empty:
                self.process.kill()
                raise Ended(f"it did not answer for {self.patience} s") from None
            if line is None:
                raise Ended("it ended early: look at its message above")
            if line == "end":
                return found
            fields = next(csv.reader([line]))
            found.append((fields[0], float(fields[8])))

    def close(self):
        try:
            self.process.stdin.close()
        except OSError:  # what it did not read: it is gone
            pass


class Flashc:
    """flashc-bench, which every table needs."""

    def __init__(self, path, arch, tiles, more=()):
        try:
            self.process = Process([path, "--stdin", f"--arch={arch}", f"--tiles={tiles}", *more])
        except OSError as error:
            sys.exit(f"compare.py: error: --bench is '{path}', which cannot be run: {error.strerror}; give flashc-bench's path")

    def times(self, cell):
        try:
            return self.process.ask(cell.words)
        except Ended as error:
            sys.exit(f"compare.py: error: flashc-bench: {error}")

    def close(self):
        self.process.close()


class Peer:
    """A peer whose failures are notes, once a cell; `time` gives milliseconds."""

    def __init__(self, impl, note):
        self.impl, self.note, self.noted = impl, note, set()

    def times(self, cell):
        try:
            return [(self.impl, self.time(cell))]
        except Exception as error:  # a peer's refusal is a result
            if cell not in self.noted:
                text = " ".join(f"{type(error).__name__}: {error}".split())[:300]
                self.note(f"# {self.impl} {cell.name}: {text}")
            self.noted.add(cell)
            return [(self.impl, math.nan)]

    def close(self):
        pass


class Pallas(Peer):
    def __init__(self, note, all_cells, python=sys.executable):
        super().__init__("pallas-mgpu", note)
        with tempfile.NamedTemporaryFile("w", suffix=".cells", delete=False) as file:
            file.writelines(cell.words + "\n" for cell in all_cells)
        self.cells = file.name
        # It may have to compile all cells before the one that it is asked for.
        self.process = Process([python, os.path.join(HERE, "pallas_peer.py"), file.name], patience=180)

    def time(self, cell):
        if self.process is None:
            return math.nan
        try:
            return dict(self.process.ask(cell.words))[self.impl]
        except Ended:
            self.process = None
            raise

    def close(self):
        if self.process is not None:
            self.process.close()
        os.unlink(self.cells)


def arrays(cell):
    """Q, K, V of shape (batch, heads, length, dim), whose memory is (batch, length, heads, dim)."""
    import torch
    import peers
    return [torch.randn(cell.batch, cell.length, cell.heads, dim, device=DEVICE, dtype=peers.DT[cell.dtype])
            .transpose(1, 2) for dim in (cell.dim, cell.dim, cell.value_dim)]


class Sdpa(Peer):
    """One backend of torch's scaled_dot_product_attention."""

    def __init__(self, name, note):
        super().__init__("torch-" + name, note)
        self.backend = SDPA[name]

    def time(self, cell):
        import torch
        import torch.nn.functional as F
        from torch.nn.attention import SDPBackend, sdpa_kernel
        import peers
        if cell.score != "none" or cell.window:
            raise ValueError("it has no windows and no score functions")
        q, k, v = arrays(cell)
        causal = cell.mask == "causal"
        if cell.backward:
            return self.time_backward(q, k, v, causal)
        with torch.no_grad(), sdpa_kernel(getattr(SDPBackend, self.backend)):
            return peers.time_ms(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal))

    def time_backward(self, *inputs):
        """What autograd calls, with what that costs the host."""
        import torch
        import torch.nn.functional as F
        from torch.nn.attention import SDPBackend, sdpa_kernel
        import peers
        *tensors, causal = inputs
        leaves = [tensor.requires_grad_() for tensor in tensors]
        with sdpa_kernel(getattr(SDPBackend, self.backend)):
            output = F.scaled_dot_product_attention(*leaves, is_causal=causal)
        gradient = torch.randn_like(output)
        return peers.time_ms(lambda: torch.autograd.grad(output, leaves, gradient, retain_graph=True))


def mask_mod(cell):
    """The mask for FlexAttention's create_block_mask; None where every key is visible."""
    if cell.mask == "none":
        return None
    if cell.mask == "causal":
        return lambda b, h, i, j: i >= j
    left, right = cell.window

    def window(b, h, i, j):
        inside = j >= i - left if left >= 0 else j >= 0
        return inside & (j <= i + right) if right >= 0 else inside
    return window


def score_mod(cell, device):
    """The score function for FlexAttention, None for none. Slopes as flashc-bench has them."""
    import torch
    if cell.score == "none":
        return None
    if cell.score.startswith("softcap("):
        cap = float(cell.score[len("softcap("):-1])
        return lambda score, b, h, i, j: cap * torch.tanh(score / cap)
    slopes = torch.exp2(-8.0 * torch.arange(1, cell.heads + 1, device=device, dtype=torch.float32) / cell.heads)
    if cell.score == "alibi":
        return lambda score, b, h, i, j: score + slopes[h] * (j - i)
    return lambda score, b, h, i, j: score - slopes[h] * (j - i).abs()


class Flex(Peer):
    """torch's FlexAttention, compiled for each cell; its first call takes seconds."""

    def __init__(self, note, mode=None):
        super().__init__("torch-flex", note)
        self.mode, self.cell, self.run = mode, None, None

    def prepare(self, cell):
        """A function that launches the cell's compiled kernel, or the gradients' by what autograd calls."""
        import torch
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention
        torch._dynamo.reset()  # else it gives up after some recompilations
        flex = torch.compile(flex_attention, dynamic=False, fullgraph=True, mode=self.mode)
        mask = mask_mod(cell)
        block_mask = mask and create_block_mask(mask, None, None, cell.length, cell.length, device=DEVICE)
        score = score_mod(cell, DEVICE)
        tensors = [tensor.requires_grad_(cell.backward) for tensor in arrays(cell)]

        def forward():
            return flex(*tensors, score_mod=score, block_mask=block_mask)

        start = time.monotonic()
        run = forward
        output = forward()
        if cell.backward:
            gradient = torch.randn_like(output)

            def run():
                return torch.autograd.grad(output, tensors, gradient, retain_graph=True)
            run()
        torch.cuda.synchronize()
        self.note(f"# {self.impl} {cell.name}: compiled in {time.monotonic() - start:.1f} s")
        return run

    def time(self, cell):
        import torch
        import peers
        with torch.set_grad_enabled(cell.backward):
            if cell != self.cell:
                self.cell, self.run = cell, None  # a cell that fails is not compiled again
                self.run = self.prepare(cell)
            return peers.time_ms(self.run) if self.run else math.nan
