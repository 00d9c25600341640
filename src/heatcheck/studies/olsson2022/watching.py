"""Trains all seeds of a kind side by side, and looks at their heads before the first step and after every twentieth."""

from collections.abc import Sequence
from itertools import count
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from heatcheck.heads.circuits.factors import composition, random_composition
from heatcheck.heads.circuits.matching import in_context_score, prefix_matching, previous_token
from heatcheck.studies.olsson2022.criterion import shortest_window
from heatcheck.studies.olsson2022.stacked import Shape, Stack
from heatcheck.studies.olsson2022.texts import draw_texts, random_repeated
from heatcheck.studies.side_by_side import Trainer, tensor_cores

LEARNING_RATE = 1e-3
EVERY = 20  # steps from one look to the next
PERIOD, COPIES = 25, 4  # of the random texts on which heads are scored
SHOWN_PERIOD, SHOWN_COPIES = 8, 2  # of the one text whose map is kept
SMOOTHED = 0.1  # of a text: losses are means over so many places before the in-context score reads two of them
PLAYED = 40  # looks of a run whose map is kept, half of them in and around the window of the rise
ONE_NUMBER = ("loss", "prefix_matching", "previous_token", "composition", "in_context")


class Data(NamedTuple):
    """How many texts a run trains on and is looked at with."""

    batch: int = 64  # a step
    held_out: int = 256
    random: int = 16  # repeated random texts, on which heads are scored


class Heads(NamedTuple):
    """What one look finds: of every model a loss, its in-context score, and scores of every head."""

    loss: Float[Tensor, " model"]
    in_context: Float[Tensor, " model"]
    prefix_matching: Float[Tensor, "model head"]  # the heads of all layers, layer by layer
    previous_token: Float[Tensor, "model head"]
    composition: Float[Tensor, "model removal head"]  # a head of layer 1 into the keys of a head of layer 2
    maps: Float[Tensor, "model head query key"]  # on the one text that is shown


class Curves(NamedTuple):
    """What a kind keeps: a number per seed at each look, and how one head of each seed came to look."""

    steps: Int[np.ndarray, " item"]
    loss: Float[np.ndarray, "model item"]  # nats per token of held-out texts
    prefix_matching: Float[np.ndarray, "model item"]  # of the head that has most of it at this step
    previous_token: Float[np.ndarray, "model item"]  # of the head of layer 1 that has most of it at this step
    composition: Float[np.ndarray, "model item"]  # times random, of the pair below; nan with both in layer 1
    in_context: Float[np.ndarray, "model item"]
    best: Int[np.ndarray, "model column"]  # layer and head with most prefix matching at the end, from 1
    feeds: Int[np.ndarray, "model column"]  # the same for the previous token, in layer 1
    played: Int[np.ndarray, "model item"]  # steps whose map is kept
    maps: Int[np.ndarray, "model item query key"]  # of the best head, in 255ths
    text: Int[np.ndarray, " token"]  # the text of the map


def watch_training(
    seeds: Sequence[int], shape: Shape, data: Data, steps: int, *, device: torch.device, record: bool | None = None
) -> Curves:
    """Train one model per seed, all side by side, and look at each of them.

    Args:
        record: a step as a CUDA graph; None: where there is a GPU.
    """
    stack = Stack(seeds, shape)
    trainer = Trainer(stack, torch.optim.AdamW, LEARNING_RATE, device=device, record=record)
    watch = Watch(seeds, shape, data, device)
    looks = [watch.look(stack)]
    for block in range(-(-steps // EVERY)):
        many = min(EVERY, steps - block * EVERY)
        texts = _texts(seeds, "train", block, many * data.batch, shape, device)
        for at in range(many):
            trainer.step(texts[:, at * data.batch : (at + 1) * data.batch])
        looks.append(watch.look(stack))
    return kept(np.array([*range(0, steps, EVERY), steps]), looks, watch.text, shape)


def stops(looks: int, begin: int, end: int, wanted: int = PLAYED) -> list[int]:
    """The looks whose maps are kept: about half in and around the window of the rise, the others evenly spaced.

    >>> stops(100, 40, 50, wanted=8)
    [0, 30, 33, 40, 50, 60, 66, 99]
    """
    near = np.linspace(max(0, begin - (end - begin)), min(looks - 1, end + (end - begin)), wanted // 2)
    chosen = {0, looks - 1, *near.round().astype(int).tolist()}
    for many in count(3):
        for place in np.linspace(0, looks - 1, many).round().astype(int).tolist():
            if len(chosen) >= min(wanted, looks):
                return sorted(chosen)
            chosen.add(place)
    raise AssertionError("every look is one of so many")


class Watch:
    """The texts that every look is at: held-out ones of each seed's language, and random ones that repeat."""

    def __init__(self, seeds: Sequence[int], shape: Shape, data: Data, device: torch.device) -> None:
        self.device, self.batch = device, data.batch
        self.held_out = _texts(seeds, "held out", 0, data.held_out, shape, device)
        period = min(PERIOD, (shape.tokens - 1) // COPIES)
        random = random_repeated(0, "scored", many=data.random, period=period, copies=COPIES, words=shape.words)
        self.text = random_repeated(0, "shown", many=1, period=SHOWN_PERIOD, copies=SHOWN_COPIES, words=shape.words)[0]
        self.random, self.shown = (
            torch.from_numpy(texts).to(device).expand(len(seeds), *texts.shape) for texts in (random, self.text[None])
        )
        width = shape.size // shape.heads
        self.by_chance = random_composition(shape.size, width, width).mean

    @torch.no_grad()
    def look(self, stack: Stack) -> Heads:
        """Nothing is waited for."""
        with tensor_cores(self.device):
            firsts = range(0, self.held_out.shape[1], self.batch)
            parts = [self.held_out[:, first : first + self.batch] for first in firsts]
            of_places = torch.stack([stack.of_tokens(part).sum(1) for part in parts]).sum(0) / self.held_out.shape[1]
            seen, shown = stack(self.random), stack(self.shown)
        scored = [prefix_matching(weights, self.random).mean(1) for weights in seen.weights]
        return Heads(
            of_places.mean(1),
            in_context_score(smoothed(of_places)),
            torch.cat(scored, dim=1),
            previous_token(seen.weights[0], self.random).mean(1),
            self._composition(stack),
            torch.cat([weights[:, 0] for weights in shown.weights], dim=1),
        )

    def _composition(self, stack: Stack) -> Float[Tensor, "model removal head"]:
        """Of each head of the first layer into the keys of each head of the second, times random; 0 with one layer."""
        first = stack.factors(0)
        if stack.shape.layers == 1:
            heads = first.value.shape[1]
            return first.value.new_zeros(len(first.value), heads, heads)
        return composition(first.value, first.output, stack.factors(1).key) / self.by_chance


def smoothed(losses: Float[Tensor, "model token"]) -> Float[Tensor, "model token"]:
    """Means over the tenth of the text around each place: a single place has too few tokens."""
    around = max(1, round(SMOOTHED * losses.shape[-1])) // 2
    return torch.nn.functional.avg_pool1d(
        losses[:, None], 2 * around + 1, stride=1, padding=around, count_include_pad=False
    )[:, 0]


def kept(
    steps: Int[np.ndarray, " item"],
    looks: Sequence[Heads],
    text: Int[np.ndarray, " token"],
    shape: Shape,
) -> Curves:
    """The looks as what is kept of them: numbers rounded to half precision, a map to 255ths."""

    def over(name: str) -> np.ndarray:
        return torch.stack([getattr(look, name) for look in looks], dim=-1).double().cpu().numpy()

    prefix, previous, composed = over("prefix_matching"), over("previous_token"), over("composition")
    best, feeds = prefix[..., -1].argmax(1), previous[..., -1].argmax(1)
    every = np.arange(len(prefix))
    into = best % shape.heads  # of layer 2; if the best head is in layer 1, nothing feeds it
    fed = np.where((best >= shape.heads)[:, None], composed[every, feeds, into], np.nan)
    rises = [shortest_window(steps, curve) for curve in prefix.max(1)]
    played = np.array([stops(len(steps), *rise) for rise in rises])
    maps = np.stack([look.maps.cpu().numpy()[every, best] for look in looks], axis=1)[every[:, None], played]
    small = {"loss": over("loss"), "prefix_matching": prefix.max(1), "previous_token": previous.max(1)}
    small |= {"composition": fed, "in_context": over("in_context")}
    return Curves(
        steps=steps,
        **{name: small[name].astype(np.float16) for name in ONE_NUMBER},
        best=np.stack((best // shape.heads + 1, best % shape.heads + 1), axis=1),
        feeds=np.stack((np.ones_like(feeds), feeds + 1), axis=1),
        played=steps[played],
        maps=(maps * 255).round().astype(np.uint8),
        text=text,
    )


def _texts(
    seeds: Sequence[int], purpose: str, number: int, many: int, shape: Shape, device: torch.device
) -> Int[Tensor, "model text token"]:
    return draw_texts(seeds, purpose, number, many=many, tokens=shape.tokens, words=shape.words, device=device)
