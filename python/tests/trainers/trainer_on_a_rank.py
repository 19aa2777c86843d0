"""A ``Trainer`` on several ranks, with a schedule: what a test starts."""

import json
import os
import sys

import torch
import transformers

from drapps import train
from drapps.train.transformers import StepCallback
from python.tests.train.models import weights
from python.tests.trainers.texts import Texts, llama

folder = sys.argv[1]
schedule = train.BatchSchedule(least=1, most=4, warmup=2, every=2, share=1e6)
callback = StepCallback(schedule)
arguments = transformers.TrainingArguments(
    folder,
    use_cpu=True,
    ddp_backend="gloo",
    report_to="none",
    disable_tqdm=True,
    per_device_train_batch_size=2,
    gradient_accumulation_steps=1,
    num_train_epochs=2,
    learning_rate=1e-2,
    save_strategy="no",
)
model = llama()
trainer = transformers.Trainer(
    model=model, args=arguments, train_dataset=Texts(24), callbacks=[callback]
)
trainer.train()
estimate = callback.estimate
answer = {
    "ranks": torch.distributed.get_world_size(),
    "estimate": [estimate.steps, estimate.noise, estimate.gradient],
    "history": schedule.history,
    "counts": [callback.steps, callback.samples, trainer.state.global_step],
    "weights": weights(model).tolist(),
}
print(json.dumps(answer), flush=True)
torch.distributed.barrier()
os._exit(0)  # torch's own end of a group may wait for a thread that waits for the interpreter
