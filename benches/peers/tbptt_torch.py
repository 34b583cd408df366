#!/usr/bin/env python3
"""The trainer's model in PyTorch, written from the specification and read with pyarrow: a twin to compare with.

    tbptt_torch.py case DIR     logits, sums and gradients of DIR/case.json, into DIR/twin.safetensors
    tbptt_torch.py bench DIR    seconds of a dense training step on the same rows

It knows nothing of compaction: every row has all 340 state tokens and 192 options. Weights are those of DIR/weights.safetensors,
as a checkpoint of train-tbptt holds them. case.json names the day, the model, and per step the rows, their lanes and
which row of a lane is the last of its decision.
"""

import json
import pathlib
import struct
import sys
import time

import numpy
import pyarrow.parquet
import torch
from torch import nn
from torch.nn import functional

TYPES = """CLS SELF_DECK OPP_DECK SELF_PRIZE OPP_PRIZE SELF_HAND OPP_HAND SELF_DISCARD OPP_DISCARD STADIUM SELF_ACTIVE
SELF_BENCH OPP_ACTIVE OPP_BENCH OPTION EFFECT SELECT_TYPE SELECT_CONTEXT CARD_SYNTH META_CONTEXT SCRATCH VALUE
SUBMIT""".split()
TYPE = {name: number for number, name in enumerate(TYPES)}
ZONES = "self_deck opp_deck self_prize opp_prize self_hand opp_hand self_discard opp_discard stadium effect".split()
FLAGS = ("self_deck", "opp_deck", "opp_hand")
MAX_OPTIONS = 192
ILLEGAL = -1e9


def read_safetensors(path):
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    values = numpy.frombuffer(data, "<f4", offset=8 + length)
    pick = lambda entry: values[entry["data_offsets"][0] // 4 : entry["data_offsets"][1] // 4]
    return {name: torch.tensor(pick(entry)).reshape(entry["shape"]) for name, entry in header.items()}


def write_safetensors(path, tensors):
    header, body, at = {}, b"", 0
    for name in sorted(tensors):
        values = tensors[name].detach().numpy().astype("<f4").tobytes()
        header[name] = {
            "dtype": "F32",
            "shape": list(tensors[name].shape),
            "data_offsets": [at, at + len(values)],
        }
        at += len(values)
        body += values
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


class Rows:
    """Columns of a day as dense tensors."""

    def __init__(self, path):
        self.table = pyarrow.parquet.read_table(path)

    def take(self, rows, name):
        column = self.table.column(name).take(rows).combine_chunks()
        if pyarrow.types.is_fixed_size_list(column.type):
            values = column.flatten().to_numpy(zero_copy_only=False).reshape(len(rows), -1)
        else:
            values = column.to_numpy(zero_copy_only=False)
        return torch.tensor(values.astype("f4") if values.dtype.kind == "f" else values.astype("i8"))


class Model(nn.Module):
    def __init__(self, case, weights):
        super().__init__()
        width, heads, layers = case["width"], case["heads"], case["layers"]
        self.w = nn.ParameterDict()
        for name, value in weights.items():
            if name.startswith("model.") and not name.startswith("model.encoder."):
                self.w[name.removeprefix("model.").replace(".", "/")] = nn.Parameter(value.clone())
        layer = lambda: nn.TransformerEncoderLayer(
            width, heads, 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=False
        )
        self.layers = nn.ModuleList([layer() for _ in range(layers)])
        for number, layer in enumerate(self.layers):
            for ours, theirs in LAYER.items():
                value = weights[f"model.encoder.{number}.{ours}"]
                layer.get_parameter(theirs).data.copy_(value)
        self.register_buffer("features", weights["fixed.card_features"])
        self.register_buffer("atoms", torch.linspace(-1, 1, 51))

    def of(self, name):
        return self.w[name.replace(".", "/")]

    def linear(self, name, values):
        return functional.linear(values, self.of(f"{name}.weight"), self.of(f"{name}.bias"))

    def kind(self, name):
        return self.of("type.embedding")[TYPE[name]]

    def card(self, ids):
        """Embedding and features; id 0 is the zero vector."""
        whole = self.of("card.embedding")[ids] + self.features[ids] @ self.of("card.features.weight").T
        return whole * (ids != 0).unsqueeze(-1)

    def state(self, take):
        """340 tokens and whether each is there."""
        rows = len(take("y"))
        always = lambda name: self.kind(name).expand(rows, -1)
        meta = self.linear("meta.day", take("day_index_norm").unsqueeze(1))
        meta = meta + self.of("meta.agent.embedding")[take("opponent_agent_bucket")]
        meta = meta + self.of("meta.deck.embedding")[take("opponent_deck_bucket")]
        tokens = [
            self.linear("cls", take("cls_scalars")) + self.kind("CLS"),
            always("VALUE"),
            always("SUBMIT"),
            self.of("select_type.embedding")[take("select_type")] + self.kind("SELECT_TYPE"),
            self.of("select_context.embedding")[take("select_context")] + self.kind("SELECT_CONTEXT"),
            meta + self.kind("META_CONTEXT"),
        ]
        tokens, there = [torch.stack(tokens, 1)], [torch.ones(rows, 6)]
        for zone in ZONES:
            token = self.card(take(f"{zone}_id")) + self.of("bucket.embedding")[take(f"{zone}_meta_bucket")]
            token = token + self.kind(zone.upper())
            if zone in FLAGS:
                token = token + take(f"{zone}_flag").unsqueeze(-1) * self.of("flag.weight")
            tokens.append(token)
            there.append(take(f"{zone}_mask"))
        for side in ("self", "opp"):
            unit = self.linear("unit", take(f"{side}_unit_attr").reshape(rows, 9, 24))
            for part in ("top", "preevo", "tool", "energy"):
                ids = take(f"{side}_unit_{part}_id").reshape(rows, 9, -1)
                buckets = take(f"{side}_unit_{part}_meta_bucket").reshape(rows, 9, -1)
                of_buckets = self.of("bucket.embedding")[buckets] * (ids != 0).unsqueeze(-1)
                unit = unit + (self.card(ids) + of_buckets).sum(2)
            kinds = [self.kind(f"{side.upper()}_ACTIVE")] + [self.kind(f"{side.upper()}_BENCH")] * 8
            tokens.append(unit + torch.stack(kinds))
            there.append(take(f"{side}_unit_mask"))
        return torch.cat(tokens, 1), torch.cat(there, 1)

    def options(self, take, state):
        rows = len(take("y"))
        attrs = take("opt_attr").reshape(rows, MAX_OPTIONS, 36)
        attacks = take("opt_attack_id")
        token = attrs @ self.of("option.attr.weight").T + self.of("verb.embedding")[take("opt_verb")]
        token = token + self.of("attack.embedding")[attacks] * (attacks != 0).unsqueeze(-1) + self.kind("OPTION")
        for end, weight in (("src", "source"), ("tgt", "target")):
            raw, card = take(f"opt_{end}_pos"), take(f"opt_{end}_card")
            place = torch.where(raw >= 3, raw + 3, torch.where(raw > 0, raw + 2, raw)).clamp(min=0)
            by_token = torch.gather(state, 1, place.unsqueeze(-1).expand(-1, -1, state.shape[2]))
            by_card = (self.card(card) + self.kind("CARD_SYNTH")) * (card != 0).unsqueeze(-1)
            referred = torch.where((raw >= 0).unsqueeze(-1), by_token, by_card)
            token = token + referred @ self.of(f"option.{weight}.weight").T
        used = (attrs != 0).any(2) | (take("action_mask")[:, :MAX_OPTIONS] != 0)
        for name, pad in OPTION_PADS.items():
            used = used | (take(name) != pad)
        # options end at the last slot that is not padding
        there = torch.flip(torch.cummax(torch.flip(used.int(), [1]), 1).values, [1])
        return token, there.float()

    def forward(self, take, memory):
        """`memory` is [rows, 16, width]; gives logits [rows, 193], value, aux, and the memory behind."""
        state, there = self.state(take)
        options, offered = self.options(take, state)
        tokens = torch.cat([state, memory + self.kind("SCRATCH"), options], 1)
        padding = torch.cat([there, torch.ones(len(state), 16), offered], 1) == 0
        for layer in self.layers:
            tokens = layer(tokens, src_key_padding_mask=padding)
        logits = torch.cat(
            [
                self.linear("policy.option", tokens[:, 356:]).squeeze(-1),
                self.linear("policy.submit", tokens[:, 2]),
            ],
            1,
        )
        logits = logits.masked_fill(take("action_mask") == 0, ILLEGAL)
        return logits, self.linear("value", tokens[:, 1]), self.linear("aux", tokens[:, 1]), tokens[:, 340:356]


OPTION_PADS = {
    "opt_verb": 0,
    "opt_src_pos": -1,
    "opt_tgt_pos": -1,
    "opt_src_card": 0,
    "opt_tgt_card": 0,
    "opt_attack_id": 0,
}
LAYER = {
    "attention.in.weight": "self_attn.in_proj_weight",
    "attention.in.bias": "self_attn.in_proj_bias",
    "attention.out.weight": "self_attn.out_proj.weight",
    "attention.out.bias": "self_attn.out_proj.bias",
    "linear1.weight": "linear1.weight",
    "linear1.bias": "linear1.bias",
    "linear2.weight": "linear2.weight",
    "linear2.bias": "linear2.bias",
    "norm1.weight": "norm1.weight",
    "norm1.bias": "norm1.bias",
    "norm2.weight": "norm2.weight",
    "norm2.bias": "norm2.bias",
}


def sums(model, take, logits, value, aux):
    """Policy, value, ko, prize delta, terminal, return: sums over rows."""
    valid = take("aux_valid").float()
    returns = take("aux_return")
    # the share of the two atoms beside the target, by hand
    at = ((returns / 2).clamp(-1, 1) + 1) / 2 * 50
    low = at.floor().clamp(0, 49).long()
    share = (at - low).unsqueeze(1)
    shares = torch.zeros(len(at), 51).scatter(1, low.unsqueeze(1), 1 - share)
    shares = shares.scatter(1, low.unsqueeze(1) + 1, share)
    bce = lambda head, name: functional.binary_cross_entropy_with_logits(
        aux[:, head], take(name).float(), weight=valid, reduction="sum"
    )
    return torch.stack(
        [
            functional.cross_entropy(logits, take("y"), reduction="sum"),
            -((shares * functional.log_softmax(value, 1)).sum(1) * valid).sum(),
            bce(0, "aux_ko"),
            (((aux[:, 1] - take("aux_prize_delta")) ** 2) * valid).sum(),
            bce(2, "aux_terminal"),
            (((aux[:, 3] - returns) ** 2) * valid).sum(),
        ]
    )


def run(model, case, day):
    """All steps of a case: logits of all rows, sums, and the loss of the window."""
    memory = model.of("memory.initial").expand(case["lanes"], -1, -1)
    logits, total, valid, rows = [], 0, 0, 0
    for step in case["steps"]:
        take = lambda name, step=step: day.take(step["rows"], name)
        lanes = torch.tensor(step["lanes"])
        here, value, aux, written = model(take, memory[lanes])
        memory = memory.clone()
        for row, (lane, last) in enumerate(zip(step["lanes"], step["last"])):
            if last:
                memory = torch.cat([memory[:lane], written[row : row + 1], memory[lane + 1 :]])
        logits.append(here)
        total = total + sums(model, take, here, value, aux)
        valid += int((take("aux_valid") != 0).sum())
        rows += len(step["rows"])
    weights = torch.tensor([1.0] + case["weights"])
    counts = torch.tensor([rows] + [max(valid, 1)] * 5)
    return torch.cat(logits), total, (total * weights / counts).sum()


def gradients(model):
    named = {f"gradient.{name.replace('/', '.')}": value.grad for name, value in model.w.items()}
    for number, layer in enumerate(model.layers):
        for ours, theirs in LAYER.items():
            named[f"gradient.encoder.{number}.{ours}"] = layer.get_parameter(theirs).grad
    return named


def main(verb, folder):
    folder = pathlib.Path(folder)
    case = json.loads((folder / "case.json").read_text())
    torch.set_num_threads(case.get("threads", 1))
    model = Model(case, read_safetensors(folder / "weights.safetensors"))
    day = Rows(case["day"])
    if verb == "case":
        logits, total, loss = run(model, case, day)
        loss.backward()
        tensors = {"logits": logits, "sums": total, "loss": loss.reshape(1), **gradients(model)}
        write_safetensors(folder / "twin.safetensors", tensors)
        return
    # best settings of the peer: columns are dense in memory already, gradients are reused, AdamW is fused
    cache = {}

    class Kept:
        def take(self, rows, name):
            key = (rows[0], rows[-1], len(rows), name)
            if key not in cache:
                cache[key] = day.take(rows, name)
            return cache[key]

    optimizer = torch.optim.AdamW(model.parameters(), 5e-4, weight_decay=0.01, fused=True)
    times = []
    for _ in range(case.get("repeat", 5) + 1):
        start = time.perf_counter()
        _, _, loss = run(model, case, Kept())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        loss.item()
        times.append(time.perf_counter() - start)
    print(json.dumps({"seconds": sorted(times[1:])[len(times[1:]) // 2], "all": times}))


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("case", "bench"):
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
