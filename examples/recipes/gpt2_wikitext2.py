"""GPT-2 small on WikiText-2: `python examples/recipes/gpt2_wikitext2.py DATA [--tokenizer DIR]`.

DATA is your copy: the folder with wiki.train.raw and wiki.valid.raw (or .tokens), or any text file,
the last twentieth of which is held out. --tokenizer is a folder with the files of a tokenizer of
transformers; without one a token is a byte. Needs torch and transformers, and in practice a GPU.
"""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from loop import Batch, DataError, fit, mean, options, run
from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel

import drapps

CONTEXT = 256  # tokens
HELD_OUT = 0.05


def texts(path: Path) -> tuple[str, str]:
    """What is trained on, and what is held out.

    Raises:
        DataError: there is no text.
    """
    if path.is_dir():
        for ending in ("raw", "tokens"):
            files = [path / f"wiki.{part}.{ending}" for part in ("train", "valid")]
            if all(file.is_file() for file in files):
                return files[0].read_text("utf-8"), files[1].read_text("utf-8")
        raise DataError(f"{path} has no wiki.train.raw and wiki.valid.raw, nor .tokens")
    if not path.is_file():
        raise DataError(f"there is no file or folder {path}")
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is no text in UTF-8: {error}") from None
    end = len(text) - int(HELD_OUT * len(text))
    return text[:end], text[end:]


def tokens(text: str, tokenizer: Path | None) -> np.ndarray:
    """The text as numbers."""
    if tokenizer is None:
        return np.frombuffer(text.encode(), np.uint8).astype(np.int32)
    if not tokenizer.is_dir():
        raise DataError(f"there is no folder {tokenizer} with a tokenizer")
    return np.asarray(AutoTokenizer.from_pretrained(tokenizer)(text)["input_ids"], np.int32)


def rows(numbers: np.ndarray, context: int) -> drapps.Pipeline:
    """Samples of so many tokens, one after the other.

    Raises:
        DataError: there are fewer tokens.
    """
    count = len(numbers) // context
    if not count:
        raise DataError(f"a text of {len(numbers)} tokens has no sample of {context}")
    return drapps.arrays({"tokens": numbers[: count * context].reshape(count, context)})


def loss_of(model: torch.nn.Module, batch: Batch) -> torch.Tensor:
    """Cross entropy of each next token, in nats."""
    numbers = batch["tokens"].long()
    return model(input_ids=numbers, labels=numbers).loss


def main(words: Sequence[str], config: GPT2Config | None = None, context: int = CONTEXT) -> None:
    """Trains, and says after each epoch how well the held-out text is predicted."""
    flags = options(__doc__, words, epochs=5, batch=8, rate=5e-4)
    if flags.data is None:
        raise DataError("say where your copy of WikiText-2 is, or any text file")
    torch.manual_seed(1)
    numbers = [tokens(text, flags.tokenizer) for text in texts(flags.data)]
    train = rows(numbers[0], context).shuffle(seed=1).batch(flags.batch)
    held_out = rows(numbers[1], context).batch(flags.batch)
    vocabulary = 256 if flags.tokenizer is None else 1 + max(int(each.max()) for each in numbers)
    config = GPT2Config() if config is None else config
    config.vocab_size, config.use_cache = max(vocabulary, 256), False
    model = GPT2LMHeadModel(config)
    for epoch in fit(model, train, loss_of, flags):
        nats = mean(model, held_out, loss_of, flags.device)
        print(f"epoch {epoch + 1}: perplexity {math.exp(nats):.2f} a token", flush=True)


if __name__ == "__main__":
    run(main)
