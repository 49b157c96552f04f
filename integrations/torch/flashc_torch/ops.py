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
                             enable_gqa):
    grad_mask = query.new_empty((0,)) if attn_mask is None else torch.empty_like(attn_mask)
    return torch.empty_like(query), torch.empty_like(key), torch.empty_like(value), grad_mask


def _setup_context(ctx, inputs, output):
    query, key, value, attn_mask, kv_lengths, ctx.mask, ctx.scale, ctx.enable_gqa = inputs
    ctx.save_for_backward(query, key, value, *output, attn_mask, kv_lengths)


def _backward(ctx, grad_output, grad_lse):
    grads = torch.ops.flashc.attention_backward(grad_output, grad_lse, *ctx.saved_tensors, ctx.mask, ctx.scale,
                                                ctx.enable_gqa)
    wanted = [grad if needed else None for grad, needed in zip(grads, ctx.needs_input_grad)]
    return *wanted, None, None, None, None


torch.library.register_autograd("flashc::attention", _backward, setup_context=_setup_context)


# torch.library.register_autocast casts to one dtype for ever; this one casts to that of the region, as torch does for its
# own attention.
_library = torch.library.Library("flashc", "FRAGMENT")
_AUTOCAST = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCUDA) | torch._C.DispatchKeySet(
    torch._C.DispatchKey.AutocastCPU)


def _register_autocast(device_type, key):
    def cast(argument):
        if (isinstance(argument, torch.Tensor) and argument.device.type == device_type and
                argument.is_floating_point() and argument.dtype != torch.float64):
            return argument.to(torch.get_autocast_dtype(device_type))
        return argument

    def kernel(*arguments):
        with torch._C._ExcludeDispatchKeyGuard(_AUTOCAST):
            return torch.ops.flashc.attention.default(*map(cast, arguments))

    _library.impl("attention", kernel, key)


_register_autocast("cuda", "AutocastCUDA")
_register_autocast("cpu", "AutocastCPU")
