"""Train a small GPT on raw text, stop, and go on: `python examples/text_gpt.py [FILES …]`.

FILES are text or JSON lines, plain or compressed; without any, the Markdown files of this project
become one. Needs torch and transformers.
"""

import itertools
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import GPT2Config, GPT2LMHeadModel

import drapps

EOS = "<|endoftext|>"
LENGTH = 64
BATCH = 4
STEPS = 6


def own_texts(folder: Path) -> Path:
    """A file of JSON lines, made of the documents of this project."""
    root = Path(__file__).resolve().parents[1]
    texts = [path.read_text("utf-8") for path in sorted(root.glob("docs/**/*.md"))]
    file = folder / "docs.jsonl"
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), "utf-8")
    return file


def train_tokenizer(files: list[Path], folder: Path) -> Path:
    """A byte-level BPE of 500 tokens; yours comes with your model."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=500, special_tokens=[EOS], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train([str(file) for file in files], trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder / "tokenizer.json"


def stock_batches(file: Path, tokenizer: Path) -> Iterator[torch.Tensor]:
    """The usual path: tokenise all documents, put their ids in a row, cut."""
    stock = Tokenizer.from_file(str(tokenizer))
    texts = [json.loads(line)["text"] for line in file.read_text("utf-8").splitlines()]
    encoded = stock.encode_batch(texts, add_special_tokens=False)
    ids = [number for each in encoded for number in [*each.ids, stock.token_to_id(EOS)]]
    rows = torch.tensor(ids[: len(ids) - len(ids) % LENGTH]).reshape(-1, LENGTH)
    return iter(rows.split(BATCH))


class Training:
    """A model with its optimizer and its data, which one checkpoint holds together."""

    def __init__(self, files: list[Path], tokenizer: Path, shuffle: bool = True) -> None:
        torch.manual_seed(0)
        small = {"vocab_size": 500, "n_positions": LENGTH, "n_embd": 32, "n_layer": 2, "n_head": 2}
        config = GPT2Config(**small, bos_token_id=0, eos_token_id=0)
        config.resid_pdrop = config.embd_pdrop = config.attn_pdrop = 0.0
        self.model = GPT2LMHeadModel(config)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-3)
        splits = None if shuffle else 1
        pipeline = drapps.text(files).pack(tokenizer, LENGTH, eos=EOS, splits=splits)
        self.loader = (pipeline.shuffle(seed=1) if shuffle else pipeline).batch(BATCH)

    def run(self, steps: int) -> list[float]:
        """Losses of so many steps from here on."""
        return self.train(
            batch["input_ids"] for batch in itertools.islice(self.loader.torch(), steps)
        )

    def train(self, batches: Iterable[torch.Tensor]) -> list[float]:
        """Losses of a step for each batch of ids."""
        losses = []
        for ids in batches:
            loss = self.model(input_ids=ids, labels=ids).loss
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            losses.append(loss.item())
        return losses

    def save(self, file: Path) -> None:
        """A checkpoint."""
        parts = (self.model.state_dict(), self.optimizer.state_dict(), self.loader.state_dict())
        torch.save(parts, file)

    def load(self, file: Path) -> None:
        """Goes on where a checkpoint was saved."""
        model, optimizer, data = torch.load(file)
        self.model.load_state_dict(model)
        self.optimizer.load_state_dict(optimizer)
        self.loader.load_state_dict(data)


def main(names: list[str]) -> None:
    """Compares a training that was interrupted with one that was not."""
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root)
        files = [Path(name) for name in names] or [own_texts(folder)]
        tokenizer = train_tokenizer(files, folder)
        whole = Training(files, tokenizer).run(2 * STEPS)

        first = Training(files, tokenizer)
        losses = first.run(STEPS)
        first.save(folder / "checkpoint.pt")
        again = Training(files, tokenizer)  # as in another process, or on another machine
        again.load(folder / "checkpoint.pt")
        losses += again.run(STEPS)
        assert losses == whole, (losses, whole)

        if not names:
            stock = itertools.islice(stock_batches(files[0], tokenizer), STEPS)
            usual = Training(files, tokenizer).train(stock)
            assert usual == Training(files, tokenizer, shuffle=False).run(STEPS)
    print(f"loss {whole[0]:.2f} to {whole[-1]:.2f}; after a restart in the middle, the same losses")


if __name__ == "__main__":
    main(sys.argv[1:])
