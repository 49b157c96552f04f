"""Fake tensors, autograd and autocast of the operators in libflashc_torch.so.

They are here because torch's stable C++ ABI has no way to register them.
"""

import torch


@torch.library.register_fake("flashc::attention")
def _attention_fake(query, key, value, attn_mask=None, kv_lengths=None, mask="none", scale=None, enable_gqa=False):
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        torch._check(tensor.dim() == 4, lambda: f"flashc::attention: {name} has {tensor.dim()} dimensions, but flashc "
                     "takes (batch, heads, length, head dim)")
    batch, heads, length, _ = query.shape
    output = query.new_empty((batch, length, heads, value.shape[3])).transpose(1, 2)
    return output, query.new_empty((batch, heads, length), dtype=torch.float32)


@torch.library.register_fake("flashc::attention_backward")
def _attention_backward_fake(grad_output, grad_lse, query, key, value, output, lse, attn_mask, kv_lengths, mask, scale,
                             enable_gqa, attn_mask_grad=False, deterministic=False):
    def like(tensor):
        batch, heads, length, dim = tensor.shape
        return tensor.new_empty((batch, length, heads, dim)).transpose(1, 2)

    grad_mask = attn_mask.new_empty(attn_mask.shape) if attn_mask_grad else query.new_empty((0,))
    return like(query), like(key), like(value), grad_mask


def _setup_context(ctx, inputs, output):
    query, key, value, attn_mask, kv_lengths, ctx.mask, ctx.scale, ctx.enable_gqa = inputs
    ctx.save_for_backward(query, key, value, *output, attn_mask, kv_lengths)
    ctx.set_materialize_grads(False)  # what is not used costs nothing


def _backward(ctx, grad_output, grad_lse):
    query, key, value, output, lse, attn_mask, kv_lengths = ctx.saved_tensors
    if grad_output is None:
        grad_output = torch.zeros_like(output)
    wants_mask = attn_mask is not None and ctx.needs_input_grad[3]
    grads = torch.ops.flashc.attention_backward(
        grad_output, grad_lse, query, key, value, output, lse, attn_mask, kv_lengths, ctx.mask, ctx.scale, ctx.enable_gqa,
        wants_mask, torch.are_deterministic_algorithms_enabled())
    wanted = [grad if needed else None for grad, needed in zip(grads, ctx.needs_input_grad)]
    return *wanted, None, None, None, None


torch.library.register_autograd("flashc::attention", _backward, setup_context=_setup_context)


def _cast(tensor, device_type, dtype):
    """What autocast makes of an argument, as of those of torch's own attention."""
    if (tensor is not None and tensor.is_floating_point() and tensor.dtype != torch.float64 and
            tensor.device.type == device_type):
        return tensor.to(dtype)
    return tensor


# torch.library.register_autocast casts to one dtype for ever; this one casts to that of the region.
_library = torch.library.Library("flashc", "FRAGMENT")
_AUTOCAST = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCUDA) | torch._C.DispatchKeySet(
    torch._C.DispatchKey.AutocastCPU)


def _register_autocast(device_type, key):
    def kernel(query, key, value, attn_mask=None, *others):
        dtype = torch.get_autocast_dtype(device_type)
        tensors = [_cast(tensor, device_type, dtype) for tensor in (query, key, value, attn_mask)]
        with torch._C._ExcludeDispatchKeyGuard(_AUTOCAST):
            return torch.ops.flashc.attention.default(*tensors, *others)

    _library.impl("attention", kernel, key)


_register_autocast("cuda", "AutocastCUDA")
_register_autocast("cpu", "AutocastCPU")


class _Attention(torch.autograd.Function):
    """What register_autograd does, in less time of the host, for eager tensors alone."""

    @staticmethod
    def forward(ctx, *inputs):
        with torch._C._AutoDispatchBelowAutograd():
            output = torch.ops.flashc.attention.default(*inputs)
        _setup_context(ctx, inputs, output)
        return output

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output, grad_lse):
        return _backward(ctx, grad_output, grad_lse)


def _is_plain(tensors):
    """Whether nothing but autograd and the device looks at these: no subclass, mode, trace or transform of functions."""
    return (all(t is None or type(t) in (torch.Tensor, torch.nn.Parameter) for t in tensors) and
            torch._C._len_torch_dispatch_stack() == 0 and not torch._C._is_tracing() and
            torch._C._functorch.peek_interpreter_stack() is None)


def attention(query, key, value, attn_mask=None, kv_lengths=None, mask="none", scale=None, enable_gqa=False):
    """torch.ops.flashc.attention, for calls from Python: (output, log-sum-exp).

    It differs where a function is compiled under autocast: the casts are in the graph, with their dtype. The operator alone
    is, as torch's own are, cast when the graph is lowered, and torch's cache of lowered graphs (2.11) knows whether
    autocast was on but not its dtype: compiled under float16, the same function gives float16 under bfloat16 too.
    """
    device_type = query.device.type
    if device_type in ("cuda", "cpu") and torch.is_autocast_enabled(device_type):
        dtype = torch.get_autocast_dtype(device_type)
        query, key, value, attn_mask = (_cast(tensor, device_type, dtype) for tensor in (query, key, value, attn_mask))
    inputs = (query, key, value, attn_mask, kv_lengths, mask, scale, enable_gqa)
    if torch.compiler.is_compiling() or not _is_plain(inputs[:5]):
        return torch.ops.flashc.attention.default(*inputs)
    # Past autograd's kernel of this operator, which is Python and costs more than the launch.
    if torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in inputs[:5]):
        return _Attention.apply(*inputs)
    with torch._C._AutoDispatchBelowAutograd():
        return torch.ops.flashc.attention.default(*inputs)
