"""A GPT-2 and a Llama with grouped heads from Hugging Face Transformers, randomly initialised, on flashc's attention.

Compares logits with those of eager attention, with and without padding, and the tokens that greedy decoding gives.

    python3 examples/transformers_models.py [--compile]
"""

import argparse
import copy

import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

import flashc_torch.huggingface

flashc_torch.huggingface.register()

LENGTH = 200


def models(device, dtype):
    """(name, eager attention in float32, eager attention, flashc's) of each model; the weights are the same."""
    tokens = {"vocab_size": 1000, "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}
    gpt2 = GPT2Config(n_layer=4, n_embd=256, n_head=4, n_positions=512, **tokens)
    llama = LlamaConfig(num_hidden_layers=4, hidden_size=256, intermediate_size=512, num_attention_heads=8,
                        num_key_value_heads=2, max_position_embeddings=512, **tokens)
    for name, kind, config in (("GPT-2", GPT2LMHeadModel, gpt2), ("Llama", LlamaForCausalLM, llama)):
        def make(attention, precision):
            # Each has a config of its own, since a model writes to it.
            model = kind._from_config(copy.deepcopy(config), attn_implementation=attention)
            model.load_state_dict(weights)
            return model.to(device, precision).eval()

        torch.manual_seed(0)
        weights = kind(config).to(dtype).state_dict()
        yield name, make("eager", torch.float32), make("eager", dtype), make("Flashc", dtype)


def worst(logits, exact, rows):
    return (logits.float() - exact)[rows].abs().max().item()


@torch.no_grad()
def compare(device, dtype, compiled=False):
    """(what, error of eager attention, error of flashc's) of each model, against float32."""
    for name, exact, eager, fused in models(device, dtype):
        if compiled:
            forward = torch.compile(fused, fullgraph=True, backend="inductor" if device == "cuda" else "aot_eager")
        else:
            forward = fused
        tokens = torch.randint(1, 1000, (2, LENGTH), generator=torch.Generator().manual_seed(1)).to(device)
        padded = torch.ones_like(tokens)
        padded[1, :50] = 0  # the second sentence is shorter
        for what, mask in (("", None), (", padded", padded)):
            rows = torch.ones_like(tokens, dtype=torch.bool) if mask is None else mask.bool()
            reference = exact(tokens, attention_mask=mask).logits
            yield (name + what, worst(eager(tokens, attention_mask=mask).logits, reference, rows),
                   worst(forward(tokens, attention_mask=mask).logits, reference, rows))


@torch.no_grad()
def tokens_agree(device, steps=8):
    """Greedy decoding by both, each with its cache of keys; in the CPU's float32 the tokens are the same."""
    for name, _, eager, fused in models(device, torch.float32):
        start = torch.randint(1, 1000, (1, 20), generator=torch.Generator().manual_seed(2)).to(device)
        yield name, torch.equal(*(model.generate(start, attention_mask=torch.ones_like(start), max_new_tokens=steps,
                                                 do_sample=False) for model in (eager, fused)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", action="store_true", help="flashc's models through torch.compile(fullgraph=True)")
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    for dtype in (torch.float16, torch.bfloat16):
        for what, eager, fused in compare(device, dtype, options.compile):
            print(f"{device}, {str(dtype).removeprefix('torch.')}, {what}: largest error of a logit: eager {eager:.2e}, "
                  f"flashc {fused:.2e}")
    for name, same in tokens_agree("cpu"):
        print(f"{name}: greedy decoding gives {'the same' if same else 'OTHER'} tokens")


if __name__ == "__main__":
    main()
