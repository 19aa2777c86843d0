"""``drapps watch`` on several processes, and on other frameworks' loaders."""

import sys

import pytest

from python.tests.watch_scripts import HEAD, watched

DDP = """
import torch.distributed as dist
dist.init_process_group("gloo")
rank = dist.get_rank()
what = sys.argv[1]
READ = 0.01 if what == "data" and rank == 1 else 0.0
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 2))
for number, batch in enumerate(DataLoader(Photos(), batch_size=4)):
    time.sleep(0.05 if what == "step" and rank == 1 else 0.005)
    model(batch).sum().backward()
    if number == 80:
        break
dist.destroy_process_group()
"""


def ranks(what, folder):
    run = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done, report = watched(HEAD + DDP, folder, command=[sys.executable, *run, "train.py", what])
    assert done.returncode == 0, done.stderr
    assert [each["rank"] for each in report["ranks"]] == [0, 1]
    return report


@pytest.mark.full
def test_a_rank_that_waits_for_data_is_not_blamed_on_the_other(tmp_path):
    pytest.importorskip("torch")
    report = ranks("data", tmp_path)
    assert report["sentence"].startswith("Rank 1 alone waits for data")
    first, second = report["ranks"]
    assert first["stall"] < 0.045 and second["stall"] > 0.7
    assert report["stages"]["storage"] > 0.8


@pytest.mark.full
def test_a_rank_that_computes_longer_is_named_and_nobody_waits_for_data(tmp_path):
    pytest.importorskip("torch")
    report = ranks("step", tmp_path)
    assert report["data_bound"] is False and report["verdict"] == "slow-rank"
    assert "rank 1 computes" in report["sentence"]


TF = """
import time
import tensorflow as tf

def work(x):
    picture = tf.fill([900, 900], tf.cast(x, tf.float32))
    return tf.reduce_sum(tf.linalg.matmul(picture, picture))

for x in tf.data.Dataset.range(150).map(work):
    time.sleep(0.003)
"""


@pytest.mark.full
def test_tf_data_is_seen(tmp_path):
    pytest.importorskip("tensorflow")
    done, report = watched(TF, tmp_path)
    assert done.returncode == 0, done.stderr
    assert report["ranks"][0]["loader"]["kind"] == "tf.data" and report["stall"] > 0.1
    assert report["resources"].get("cpu", 0) > 0.5
