"""Rows of tokens of unequal length, and the smallest model of them."""

import torch
import transformers


class Texts(torch.utils.data.Dataset):
    """Rows of 3 to 16 tokens; the others are padding, which no loss counts."""

    def __init__(self, size=24):
        generator = torch.Generator().manual_seed(1)
        self.rows = torch.randint(0, 50, (size, 16), generator=generator)
        self.lengths = torch.randint(3, 17, (size,), generator=generator)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        labels = self.rows[index].clone()
        labels[self.lengths[index] :] = -100
        return {"input_ids": self.rows[index], "labels": labels}


def llama():
    """Whose loss is divided by the tokens of a step."""
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        num_hidden_layers=1,
        hidden_size=16,
        intermediate_size=32,
        num_attention_heads=2,
        vocab_size=50,
        max_position_embeddings=16,
    )
    return transformers.LlamaForCausalLM(config)
