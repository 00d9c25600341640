"""A Hugging Face network whose inner quantities pass a tap: where its attentions and blocks are, found out at load."""

import threading
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from heatcheck.data import Batch, Example
from heatcheck.errors import BadInput, HeatcheckError, NotSupported
from heatcheck.models.contract.arguments import first_tensor, with_first_tensor
from heatcheck.models.contract.subject import Edit, Site, Tap
from heatcheck.models.hf.hooks import (
    TURNED,
    embedded,
    entered,
    first_time,
    last_of_text,
    left,
    noted,
    scored,
    sent,
    through_block,
)
from heatcheck.models.hf.joined import mark_merged
from heatcheck.models.hf.linear import quicken
from heatcheck.models.hf.longformer import spell_out_windows
from heatcheck.models.hf.met_softmax import find_attentions, meet_attentions
from heatcheck.models.hf.placing import block_of, place
from heatcheck.models.hf.precision import require_numbers
from heatcheck.models.hf.taps import ACTIVE, NAME, Pass, passing
from heatcheck.models.hf.trial import LAST, MADE_UP, MEAN, require_tokens, try_out

_WHAT_WORKS = "docs/transformers.md lists all families that work. For other torch modules use heatcheck.wrap."


class Tapped(nn.Module):
    """A network with a name, and the places in it that can be read and edited.

    `watch_network` finds these places with a few dry passes; a network that hides them is refused by name.
    """

    def __init__(self, network: Any, name: str) -> None:
        super().__init__()
        self.network = network.eval()
        self.name = name
        self._called = f"{name} ({network.config.model_type})"

    def watch_network(self) -> None:
        """Install the tap and find out what passes it."""
        self._install()
        self._watched: set[str] = set()  # modules whose inputs and outputs the tap sees
        self._several: dict[str, int] = {}  # block -> how many things it hands on, 0 for a lone tensor
        self._lock = threading.Lock()
        self._discover()

    def encode(self, examples: Sequence[Example]) -> Batch:
        """What the network reads of these examples."""
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        """For another process, or a copy: all but what is this process's own."""
        return {name: value for name, value in self.__dict__.items() if name not in ("_lock", "_paths")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[no-untyped-call]  # torch's
        self._lock = threading.Lock()
        self._paths: dict[int, str] = {}  # not yet: the network's hooks lead here before it is whole

    @property
    def _names(self) -> dict[int, str]:
        """The path of each module, by its identity in this process."""
        if not self._paths:
            self._paths = {id(module): path for path, module in self.network.named_modules()}
        return self._paths

    def _install(self) -> None:
        try:
            self.network.set_attn_implementation(NAME)
        except (ValueError, AttributeError, ImportError) as error:
            reason = str(error).splitlines()[0]
            raise NotSupported(f"{self._called}: {reason} {_WHAT_WORKS}") from None
        for module in list(self.network.modules()):  # BigBird reads short texts whole, and switches when it meets one
            if getattr(module, "attention_type", None) == "block_sparse" and hasattr(module, "set_attention_type"):
                module.set_attention_type("original_full")
        self._paths = {}
        spell_out_windows(self.network)
        quicken(self.network)
        summary: Any = getattr(self.network, "sequence_summary", None)
        if getattr(summary, "summary_type", None) == "last" and first_time(summary, "last_of_text"):
            self.network.register_forward_pre_hook(noted, with_kwargs=True)
            summary.register_forward_pre_hook(last_of_text)

    def _discover(self) -> None:
        """Two dry passes: which attentions fire, in which blocks, and which token the answer is read from."""
        try:
            batch = self.encode(MADE_UP)
            self._place(self._attentions(batch), batch)
            self._see_embeddings(batch)
            head = getattr(self.network, "score", None) or getattr(self.network, "classifier", None)
            ask = self._ask
            if self.placed.not_stacked and isinstance(head, nn.Module) and hasattr(self.network, "score"):
                self._see_scores(head)
                ask = self._ask_last
            self.reads, self.sinks, self._width = try_out(
                self.network, self._pass, batch, self.sites, self.placed, self._called, ask
            )
        except HeatcheckError as error:
            if isinstance(error, NotSupported) and self._called not in str(error):
                raise NotSupported(f"{self._called} cannot be read: {error}") from None
            raise
        except Exception as error:  # whatever a family raises
            reason = " ".join(str(error).split())[:200].rstrip(".")
            raise NotSupported(
                f"{self._called} failed on two short test texts ({type(error).__name__}: {reason}). {_WHAT_WORKS}"
            ) from None
        if self.reads_last and isinstance(head, nn.Module):
            self._see_scores(head)

    def _see_scores(self, head: nn.Module) -> None:
        """From now on a pass of heatcheck's knows what the head says of each token."""
        if first_time(head, "scored"):
            head.register_forward_hook(scored)

    def _ask_last(self, inputs: Mapping[str, Any]) -> Tensor:
        """T5Gemma reads another token where a text is padded: of each text its last one, as if it were alone."""
        found, now, mask = self._ask(inputs), ACTIVE.get(), inputs["attention_mask"]
        if now is None or now.every_row is None or now.every_row.shape[:2] != mask.shape:
            return found
        return now.every_row[torch.arange(len(mask), device=mask.device), mask.sum(1) - 1]

    def _attentions(self, batch: Batch) -> tuple[Site, ...]:
        """The attentions that fire in a pass: those that transformers' registry knows, or else those that are met."""

        tap = Tap({}, ())

        def ask(*want: Site) -> tuple[Site, ...]:
            nonlocal tap
            tap = Tap({}, want)
            with torch.no_grad(), passing(self._pass(tap)):
                require_numbers(self._ask(batch.inputs), self._called)
            return tuple(dict.fromkeys(tap.passed))

        known = {site.where.partition("@")[0] for site in ask()}
        by_itself = find_attentions(self.network, ask)
        meet_attentions(self.network, {path: kernel for path, kernel in by_itself.items() if path not in known})
        found = ask()
        if not found:
            raise NotSupported(
                f"{self._called} makes no attention weights that heatcheck can read, so there is no heatmap. "
                "Choose a model with softmax attention."
            )
        if getattr(self.network.config, "is_encoder_decoder", False):
            ask(*(Site("score", site.where) for site in found))
            mark_merged(self.network, tap.parts, batch)
        ask(found[-1])
        require_tokens(tap.parts[found[-1]], batch, self._called)
        return found

    def _pass(self, tap: Tap, taken_over: int = -1, *, rows_only: bool = False) -> Pass:
        return Pass(tap, self._names, taken_over, owner=self, rows_only=rows_only)

    def _place(self, sites: tuple[Site, ...], batch: Batch) -> None:
        """Each attention with the block it stands in."""
        self.sites = sites
        self.placed = place(self.network, sites, self._called, blocks=self._states_by_token(sites, batch))
        self.blocks = self.placed.blocks
        self._number = {place.where: number for number, place in enumerate(self.blocks)} if self.placed.skips else {}
        for path in self.placed.paths:
            block = self.network.get_submodule(path)
            if first_time(block, "block"):
                block.forward = partial(through_block, path, block.forward)
        self._watched = set(self.placed.paths)
        self._watch([self.blocks[-1].where.partition("@")[0]])

    def _states_by_token(self, sites: tuple[Site, ...], batch: Batch) -> bool:
        """Whether the block around the last attention hands on one vector per token and no other (LiLT: a layout's)."""
        found: list[Any] = []
        block = self.network.get_submodule(block_of(self.network, sites[-1].where))
        hook = block.register_forward_hook(lambda _, __, given: found.append(given))
        with torch.no_grad(), passing(self._pass(Tap({}, ()))):
            self._ask(batch.inputs)
        hook.remove()
        given = found[0] if found and isinstance(found[0], tuple | list) else found[:1]
        states = [one for one in given if isinstance(one, Tensor) and one.ndim == 3]
        return len(states) == 1 and states[0] is given[0] and states[0].shape[:2] == batch.valid.shape

    def _see_embeddings(self, batch: Batch) -> None:
        """From now on a pass of heatcheck's sees the embedded text; some decoders look words up once more."""
        sides = [self.network]
        if self.placed.not_stacked:
            sides = [self.network.get_encoder(), self.network.get_decoder()]
        for side in sides:
            try:
                table = side.get_input_embeddings()
            except NotImplementedError:  # CANINE hashes characters: transformers' own answer then
                continue
            if first_time(table, "embedded"):
                self._mark_turned(table, batch)
                table.register_forward_hook(embedded)

    def _mark_turned(self, table: nn.Module, batch: Batch) -> None:
        """XLNet looks words up by token and then by example."""
        seen: list[Any] = []
        hook = table.register_forward_pre_hook(lambda _, given: seen.append(given[0] if given else None))
        with torch.no_grad():
            self._ask(batch.inputs)
        hook.remove()
        turned = batch.inputs["input_ids"].T
        if seen and isinstance(seen[0], Tensor) and seen[0].shape == turned.shape and torch.equal(seen[0], turned):
            table.__dict__[TURNED] = True

    @property
    def reads_last(self) -> bool:
        """Whether the answer is read from a text's last token, as in most decoders."""
        return self.reads == LAST

    @property
    def pools(self) -> bool:
        """Whether the answer is read from all tokens, so that the heatmap is the mean of their rows."""
        return self.reads == MEAN

    @property
    def not_stacked(self) -> str:
        """Why its sites are not the self-attention of every layer of one stack; "" if they are."""
        return self.placed.not_stacked

    @property
    def not_layered(self) -> str:
        """Why its layers cannot be taken one by one, each with one row that is read; "" if they can."""
        if self.pools:
            return f"{self.name} reads its answer from all tokens"
        return self.placed.not_stacked or self.placed.not_layered

    @property
    def device(self) -> torch.device:
        found: torch.device = self.network.device
        return found

    def _gives_block(self, site: Site, edit: Edit) -> bool:
        """Whether this puts a tensor in place of a block's output, so that the block need not be computed."""
        return site.part == "state" and site.where in self._number and isinstance(edit, Tensor)

    def _ask(self, inputs: Mapping[str, Any]) -> Tensor:
        """One number per text and output."""
        found: Tensor = self.network(**inputs).logits
        return found

    def _block(self, now: Pass, path: str, forward: Any, *given: Any, **named: Any) -> Any:
        """A block's forward pass; one whose output is taken over is not computed."""
        block, state = self.network.get_submodule(path), first_tensor(given, named)
        if id(block) not in now.names or state is None:
            return forward(*given, **named)
        where = now.use(block, "state")
        assert where is not None
        number = self._number.get(where, len(self.blocks))
        if number <= now.taken_over:
            now.used[self.sites[number].where.partition("@")[0], "weights"] += 1
            edit = now.tap.edits.get(self.blocks[number])
            if not isinstance(edit, Tensor):
                return self._like(path, state)
            return self._like(path, now.send("state", where, edit))
        given, named = with_first_tensor(given, named, now.send("input", where, state))
        found = forward(*given, **named)
        self._several.setdefault(path, len(found) if isinstance(found, tuple | list) else 0)
        return sent(now, where, found)

    def _like(self, path: str, state: Tensor) -> Any:
        """A state as the block at this path would hand it on."""
        several = self._several.get(path, 0)
        return (state, *[None] * (several - 1)) if several else state

    def _watch(self, paths: Collection[str]) -> None:
        """Lets the tap see what goes into and comes out of these modules, from now on."""
        with self._lock:
            for path in set(paths) - self._watched:
                try:
                    module = self.network.get_submodule(path)
                except AttributeError:
                    raise BadInput(f"{self.name} has no module {path!r}.") from None
                if first_time(module, "watched"):
                    module.register_forward_pre_hook(entered, with_kwargs=True)
                    module.register_forward_hook(left)
                self._watched.add(path)
