"""What the loader costs beside its work: imports, allocations."""

import os
import shutil
import subprocess

import pytest

from python.tests.cells import cells
from python.tests.decode_files import encode, jpeg, picture
from python.tests.hold_streams import run_script, write_files

COUNTER = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
static atomic_ulong calls;
unsigned long allocations(void) { return calls; }
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void *malloc(size_t bytes) { calls++; return __libc_malloc(bytes); }
void *calloc(size_t count, size_t bytes) { calls++; return __libc_calloc(count, bytes); }
void *realloc(void *old, size_t bytes) { calls++; return __libc_realloc(old, bytes); }
void *memalign(size_t align, size_t bytes) { calls++; return __libc_memalign(align, bytes); }
void *aligned_alloc(size_t align, size_t bytes) { calls++; return __libc_memalign(align, bytes); }
int posix_memalign(void **out, size_t align, size_t bytes) {
  calls++;
  *out = __libc_memalign(align, bytes);
  return *out ? 0 : 12;
}
"""


@pytest.fixture(scope="module")
def counter(tmp_path_factory):
    """A library that counts every call of malloc and its siblings, in every thread."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    folder = tmp_path_factory.mktemp("counter")
    (folder / "counter.c").write_text(COUNTER)
    command = [compiler, "-O1", "-shared", "-fPIC", "-o", "counter.so", "counter.c"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no interposition here: {done.stderr}")
    return folder / "counter.so"


@pytest.mark.parametrize(("kind", "fused"), cells(["JPEG", "PNG", "WEBP"], [1, 0]))
def test_the_steady_state_allocates_nothing_per_sample(counter, tmp_path, kind, fused):
    if kind == "JPEG":
        contents = [jpeg("4:2:0", 150, 200), jpeg("4:4:4", 150, 200)] * 128
    else:
        contents = [encode(picture("RGB", 100, 120), kind)] * 256
    write_files(tmp_path, contents)
    script = """
import ctypes, glob, json, sys
import drapps
from python.tests.hold_streams import core
library, folder, fused, allowed = sys.argv[1:]
allocations = ctypes.CDLL(library).allocations
allocations.restype = ctypes.c_ulong
source = drapps.images(sorted(glob.glob(folder + "/*.jpg")))
source = source.random_resized_crop(64).flip().color_jitter(0.2, 0.2, 0.2, 0.1).shuffle(1)
source = source.normalize([0.5] * 3, [0.5] * 3)
settings = json.loads(core(source).settings())
settings["knobs"]["fused"] = int(fused)
loader = core(source, 64, settings=settings)
order = __import__("numpy").tile(__import__("numpy").arange(256), 32)
iterator = loader.iterate(0, 0, order)
for step in range(16):
    iterator.next()
before = allocations()
assert before > 1000
shares = []
for window in range(28):
    for step in range(4):
        iterator.next()
    now = allocations()
    shares.append((now - before) / 256)
    before = now
    if shares[-1] < float(allowed):
        break
print(min(shares))  # others are those of late buffers, and of what is done by time
"""
    allowed = 8 if kind == "WEBP" else 0.2  # libwebp and libwebpdemux take no allocator of ours
    output = run_script(script, counter, tmp_path, fused, allowed, LD_PRELOAD=os.fspath(counter))
    assert float(output) < allowed


def test_import_is_quick_and_loads_no_framework():
    script = """
import sys, time
started = time.perf_counter()
import drapps
dir(drapps)
took = time.perf_counter() - started
heavy = {"torch", "torchvision", "tensorflow", "jax", "numpy", "PIL"} & set(sys.modules)
assert not heavy, heavy
import threading
assert threading.active_count() == 1
print(took)
"""
    assert float(run_script(script)) < 1.0


def test_the_builder_needs_no_framework_and_starts_no_thread(tmp_path):
    [path] = write_files(tmp_path, [jpeg("4:2:0", 40, 40)])
    script = """
import os, sys
import drapps
loader = drapps.images(sys.argv[1:]).random_resized_crop(16).batch(1)
len(loader), loader.state_dict(), loader.explain()
assert not {"torch", "tensorflow", "jax", "PIL"} & set(sys.modules)
threads = len(os.listdir("/proc/self/task"))
[batch] = loader
assert not {"torch", "tensorflow", "jax", "PIL"} & set(sys.modules)
print(threads)
"""
    assert run_script(script, path, OPENBLAS_NUM_THREADS="1").strip() == "1"
