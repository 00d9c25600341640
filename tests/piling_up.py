"""Whether a recorder holds more memory the more checkpoints it has taken."""

import gc
import tracemalloc

import torch

from heatcheck.training import observed_steps


def piles_up(observer, folder):
    """After 16 checkpoints, of which the last 11 are looked at: whether they are held, as bytes or as tensors."""
    observer.after(0)  # what is made once is made before

    def held():
        gc.collect()
        tensors = sum(one.numel() for one in gc.get_objects() if type(one) is torch.Tensor)
        return tracemalloc.get_traced_memory()[0], tensors

    tracemalloc.start()
    for step in range(1, 5):
        observer.after(step)
    early = held()
    for step in range(5, 16):
        observer.after(step)
    late = held()
    tracemalloc.stop()
    assert len(observed_steps(folder)) == 16
    size = (folder / "observed" / "00000000.npz").stat().st_size
    return late[0] - early[0] >= 3 * size or late[1] != early[1]  # 11 more checkpoints hold no more than caches
