"""Not a test, for it takes most of a minute: how many heads of SmolLM2 are sinks, on repeated random tokens.

`python tests/heads/sinks_of_smollm2.py MODEL.gguf` prints, for some draws of random tokens, how many of the 270 heads
put more than 0.3 of their weight on the first token. mechanisms.md §8 has 165 with BOS and 195 without, of one draw.
"""

import sys

import torch

from heatcheck.data import Batch
from heatcheck.models.hf.next_token import load_next_token

TEXTS, TOKENS, TIMES, RARE = 16, 25, 4, 2000


def main(path: str) -> None:
    subject = load_next_token(path)
    known = len(subject.tokenizer)
    for seed in range(3):
        for bos in (True, False):
            generator = torch.Generator().manual_seed(seed)
            ids = torch.randint(RARE, known - RARE, (TEXTS, TOKENS), generator=generator).repeat(1, TIMES)
            if bos:
                ids = torch.cat([torch.full((TEXTS, 1), subject.tokenizer.bos_token_id), ids], dim=1)
            real = torch.ones_like(ids, dtype=torch.bool)
            inputs = {"input_ids": ids, "attention_mask": real.long()}
            batch = Batch(("",) * TEXTS, inputs, real, real, torch.zeros_like(ids), None, {})
            want = {site: lambda weights: weights[:, :, 1:, 0].mean((0, 2)) for site in subject.sites}
            with torch.inference_mode():
                parts = subject.run(batch, want=want).parts
            mass = torch.cat([parts[site] for site in subject.sites])
            sys.stdout.write(
                f"seed {seed}, {'with' if bos else 'without'} BOS: {int((mass > 0.3).sum())} of {len(mass)}\n"
            )


if __name__ == "__main__":
    main(sys.argv[1])
