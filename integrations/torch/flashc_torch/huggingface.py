"""flashc as an attention implementation of Hugging Face Transformers.

    import flashc_torch.huggingface
    flashc_torch.huggingface.register()
    model = AutoModelForCausalLM.from_pretrained(..., attn_implementation="Flashc")

The name has a capital: Transformers 5 takes each name that contains "flash" for FlashAttention (docs/Torch.md).
"""

from flashc_torch.sdpa import sdpa


def attention_forward(module, query, key, value, attention_mask, dropout=0.0, scaling=None, is_causal=None, **kwargs):
    """Transformers' attention function: query (batch, heads, length, dim), key and value with fewer heads where they are
    grouped; gives (batch, length, heads, dim) and no attention weights."""
    if kwargs.get("position_bias") is not None:
        raise ValueError("flashc_torch: this model adds a position_bias to its scores, which its flashc implementation does "
                         "not read; use attn_implementation='sdpa'")
    if kwargs.get("s_aux") is not None or kwargs.get("softcap") is not None:
        raise ValueError("flashc_torch: this model has attention sinks or a softcap, which its flashc implementation does "
                         "not read; use attn_implementation='eager'")
    is_causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    # As for sdpa: a single query is a decode step and sees all keys, and a mask holds causality already.
    is_causal = query.shape[2] > 1 and attention_mask is None and is_causal
    output = sdpa(query, key, value, attention_mask, dropout_p=dropout, is_causal=is_causal, scale=scaling, enable_gqa=True)
    return output.transpose(1, 2), None


def register(name="Flashc"):
    """Make `attn_implementation=name` known. Masks are those that Transformers makes for sdpa: none where the kernel's own
    causal mask does, else bool.

    Raises ValueError where Transformers takes `name` for FlashAttention: see docs/Torch.md.
    """
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask
    from transformers.utils import generic
    # A function of Transformers 5; before it, other names than those of FlashAttention were free.
    taken = getattr(generic, "is_flash_attention_requested", None)
    if taken and taken(requested_attention_implementation=name):
        raise ValueError(f"flashc_torch: this Transformers takes each name with 'flash' in it for FlashAttention, and '{name}' "
                         "is one; register another, such as 'Flashc', whose capital letter it does not look for")
    AttentionInterface.register(name, attention_forward)
    AttentionMaskInterface.register(name, sdpa_mask)
