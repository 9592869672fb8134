#!/usr/bin/env python3
"""Measures what two programs on one GPU leave each other, in percent of what each does alone.

Needs a GPU that nothing else uses, PyTorch and CuPy. Runs under time-slicing; with
CUDA_MPS_PIPE_DIRECTORY of a control daemon, it runs under MPS. Prints a Markdown table.
"""

import subprocess
import sys
import time

SECONDS = 1.5
SPIN = r"""extern "C" __global__ void spin(long long clocks) {
  long long start = clock64();
  while (clock64() - start < clocks) {}
}"""
PROGRAMS = {
    "matmul": "products of 4096 × 4096 bf16 matrices",
    "copy": "copies of 1 GiB within the GPU's memory",
    "one-block": "one block of 32 threads that spins",
    "small": "products of 256 × 256 bf16 matrices, one launch each",
    "paused": "ten products of 4096 × 4096, then 5 ms of nothing",
}


def program(kind):
    """Returns one round of work, and how many operations it has."""
    import cupy
    import torch

    def matrices(size):
        a = torch.randn(size, size, device="cuda", dtype=torch.bfloat16)
        return a, a.clone()

    if kind == "copy":
        source = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
        target = torch.empty_like(source)
        return lambda: [target.copy_(source) for _ in range(10)], 10
    if kind == "one-block":
        spin = cupy.RawKernel(SPIN, "spin")
        return lambda: spin((1,), (32,), (5_000_000,)), 1
    if kind == "small":
        a, b = matrices(256)
        return lambda: [torch.matmul(a, b) for _ in range(200)], 200
    a, b = matrices(4096)
    if kind == "matmul":
        return lambda: [torch.matmul(a, b) for _ in range(40)], 40

    def paused():
        for _ in range(10):
            torch.matmul(a, b)
        torch.cuda.synchronize()
        time.sleep(0.005)

    return paused, 10


def work(kind):
    """Answers each line of standard input, a number of seconds, with operations per second."""
    import cupy
    import torch

    once, operations = program(kind)

    def round_of_work():
        once()
        torch.cuda.synchronize()
        cupy.cuda.Device().synchronize()

    round_of_work()
    print("ready", flush=True)
    for line in sys.stdin:
        start = time.monotonic()
        done = 0
        while time.monotonic() < start + float(line):
            round_of_work()
            done += operations
        print(done / (time.monotonic() - start), flush=True)


def measure(workers):
    """Lets these programs run at the same time; returns operations per second of each."""
    for worker in workers:
        worker.stdin.write(f"{SECONDS}\n")
        worker.stdin.flush()
    return [float(worker.stdout.readline()) for worker in workers]


def main():
    workers = {
        (kind, copy): subprocess.Popen(
            [sys.executable, __file__, kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for kind in PROGRAMS
        for copy in (0, 1)
    }
    try:
        for worker in workers.values():
            if worker.stdout.readline().strip() != "ready":
                sys.exit("a program does not start; its error is above")
        alone = {kind: measure([workers[kind, 0]])[0] for kind in PROGRAMS}
        print("| first | second | first keeps | second keeps |\n|---|---|---|---|")
        kinds = list(PROGRAMS)
        for index, first in enumerate(kinds):
            for second in kinds[index:]:
                rates = measure([workers[first, 0], workers[second, 1]])
                kept = [f"{rate / alone[kind]:.0%}" for rate, kind in zip(rates, (first, second))]
                print(f"| {first} | {second} | {kept[0]} | {kept[1]} |", flush=True)
    finally:
        for worker in workers.values():
            worker.kill()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        work(sys.argv[1])
    else:
        main()
