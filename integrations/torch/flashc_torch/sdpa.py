"""torch.nn.functional.scaled_dot_product_attention, by flashc."""

import torch

from flashc_torch.ops import attention


def _fail(text):
    raise ValueError(f"flashc_torch.sdpa: {text}")


def sdpa(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """Attention with the arguments and the meaning of torch.nn.functional.scaled_dot_product_attention.

    query (..., Hq, L, E), key (..., H, S, E) and value (..., H, S, Ev) give (..., Hq, L, Ev). float16, bfloat16 and, on a
    CPU, float32; E and Ev at most 256. attn_mask broadcasts to (..., Hq, L, S): bool, where True is a key that a query
    sees, or float, added to the scaled scores. It is read as it is: a bool mask stays one of bytes, and what is broadcast
    is not written out. is_causal is torch's: query i sees keys 0 to i, also where L and S differ. With enable_gqa, Hq may
    be a multiple of H. A row that sees no key gives zeros.

    Raises ValueError for arguments that do not go together and for a dropout_p that is not 0, and RuntimeError for what
    flashc cannot compute. Query, key, value and a float mask have gradients; under
    torch.use_deterministic_algorithms(True) theirs are the same bits in every run.
    """
    if dropout_p != 0.0:
        _fail(f"dropout_p is {dropout_p}, but flashc has no dropout yet; pass 0.0 (in a module: eval(), or a dropout "
              "probability of 0)")
    if is_causal and attn_mask is not None:
        _fail("attn_mask is given and is_causal is True; pass one of them, as for torch")
    mask = "causal-topleft" if is_causal else "none"
    # What most calls have: four dimensions, and nothing of query, key and value is broadcast.
    if query.dim() == key.dim() == value.dim() == 4:
        (batch, heads, queries, _), (key_batch, kv_heads, keys, _), value_shape = query.shape, key.shape, value.shape
        if batch == key_batch == value_shape[0] and (kv_heads == heads or enable_gqa) and kv_heads == value_shape[1]:
            if attn_mask is not None:
                attn_mask = _four_dims_of_mask(attn_mask, (batch, heads, queries, keys))
            return attention(query, key, value, attn_mask, None, mask, scale, kv_heads != heads)[0]
    return _broadcast(query, key, value, attn_mask, mask, scale, enable_gqa)


def _four_dims_of_mask(attn_mask, full):
    """A mask with leading dimensions of 1, which the operator broadcasts."""
    shape = attn_mask.shape
    fits = len(shape) <= 4
    for size, want in zip(shape[::-1], full[::-1]):
        fits = fits and (size == want or size == 1)
    if not fits:
        _fail(f"attn_mask has shape {tuple(shape)}, which does not broadcast to {tuple(full)}")
    return attn_mask if len(shape) == 4 else attn_mask.view((1,) * (4 - len(shape)) + shape)


def _broadcast(query, key, value, attn_mask, mask, scale, enable_gqa):
    """The same for any number of leading dimensions, which are broadcast."""
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if tensor.dim() < 2:
            _fail(f"{name} has shape {tuple(tensor.shape)}, but needs a length and a head dim")
    rank = max(query.dim(), key.dim(), value.dim())
    # (length, dim) has one head.
    query, key, value = (tensor.unsqueeze(0) if tensor.dim() == 2 else tensor for tensor in (query, key, value))

    heads, kv_heads = query.shape[-3], key.shape[-3]
    if kv_heads != value.shape[-3]:
        _fail(f"key has {kv_heads} heads and value {value.shape[-3]}; give them as many")
    if not enable_gqa and heads != kv_heads:
        if 1 not in (heads, kv_heads):
            _fail(f"query has {heads} heads and key {kv_heads}; pass enable_gqa=True for query heads that share keys")
        heads = max(heads, kv_heads)
    # One key head for all query heads is broadcasting too: they share it, and nothing is copied.
    grouped = heads != kv_heads

    batch = torch.broadcast_shapes(query.shape[:-3], key.shape[:-3], value.shape[:-3], (1,))
    if attn_mask is not None:
        full = (*batch, heads, query.shape[-2], key.shape[-2])
        try:
            attn_mask = attn_mask.expand(full)
        except RuntimeError:
            _fail(f"attn_mask has shape {tuple(attn_mask.shape)}, which does not broadcast to {tuple(full)}")
        attn_mask = _four_dims(attn_mask, batch, heads)
    output, _ = attention(_four_dims(query, batch, heads), _four_dims(key, batch, kv_heads),
                          _four_dims(value, batch, kv_heads), attn_mask, None, mask, scale, grouped)
    return output if rank == 4 else output.reshape((*batch, *output.shape[1:])[-rank:])


def _four_dims(tensor, batch, heads):
    """A tensor (..., h, length, dim) as (batch, heads, length, dim), its leading dimensions broadcast."""
    tensor = tensor.expand(*batch, heads, *tensor.shape[-2:])
    return tensor if len(batch) == 1 else tensor.reshape(-1, *tensor.shape[-3:])
