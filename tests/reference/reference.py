"""The budget problem of one trace as an integer programme, solved with HiGHS.

`solve(trace, budget_bytes)` finds the plan with the least recompute time among *all*
plans of docs/plan-format.md (not only those that the planners look at), under the
rules of `simulate`, and a bound that no plan is below. For traces of up to about 40
ops; used by tests and benchmarks only.

The formulation follows Checkmate (Jain et al. 2020): a stage for every unpack event of
a value that can be dropped, and in each stage a choice of ops to run again. Times are
seconds, sizes bytes; variables count memory in units of the budget.
"""

from __future__ import annotations

import dataclasses
import math

import highspy
import numpy as np

NEVER = 2**31 - 1


@dataclasses.dataclass
class Result:
    status: str  # "optimal", "infeasible", "limit" (a plan, perhaps not the best), "unknown" (no plan in time)
    seconds: float = math.inf  # recompute time of `plan`
    bound: float = 0.0  # no plan takes less
    plan: dict | None = None  # the JSON form, without a fingerprint


class Step:
    """What the rules of docs/plan-format.md say of a trace before any plan is made."""

    def __init__(self, trace: dict):
        self.values = trace["values"]
        self.ops = trace["ops"]
        self.saved = trace["saved"]
        self.backward = trace["backward"]
        values, ops = self.values, self.ops
        self.maker = [v.get("maker") for v in values]
        self.bytes = [v["bytes"] for v in values]
        self.over = [v.get("overwrites") for v in values]
        self.dies = [v.get("dies", NEVER) for v in values]
        external = [m is None for m in self.maker]
        self.in_external = list(external)
        for v in range(len(values)):
            if self.over[v] is not None and self.in_external[self.over[v]]:
                self.in_external[v] = True
        self.needs = []
        self.fresh = []
        for op in ops:
            needs = [v for v in op["inputs"] if not external[v]]
            for out in op["outputs"]:
                before = self.over[out]
                if before is not None and not external[before] and before not in needs:
                    needs.append(before)
            self.needs.append(needs)
            self.fresh.append(sum(self.bytes[v] for v in op["outputs"] if self.over[v] is None))
        self.tracked = [v for v in range(len(values)) if not external[v]]
        self.can_keep = [not external[v] and not values[v].get("overwritten", False) for v in range(len(values))]
        self.again = []
        must = [False] * len(values)
        for i, op in enumerate(ops):
            again = not op.get("pinned", False) and not any(self.in_external[v] for v in op["outputs"])
            again = again and all(self.can_keep[v] or self.again[self.maker[v]] for v in self.needs[i])
            self.again.append(again)
            for v in op["outputs"]:
                must[v] = self.can_keep[v] and (not again or self.dies[v] > len(ops))
        self.must_keep = must
        self.last_event = [-1] * len(values)
        for e, event in enumerate(self.backward):
            if (v := self.value_of(event)) is not None:
                self.last_event[v] = e
        self.play_bare(trace["static_bytes"])

    def play_bare(self, static_bytes: int) -> None:
        """Bytes when nothing is held for backward: at the start of each position, and until the next."""
        n = len(self.ops)
        dying: dict[int, int] = {}
        for v in self.tracked:
            if self.can_keep[v] and not self.in_external[v]:
                dying[self.dies[v]] = dying.get(self.dies[v], 0) + self.bytes[v]
        held = static_bytes
        self.live, self.peak = [], []
        for p in range(n + len(self.backward)):
            held -= dying.get(p, 0)
            if p < n:
                op = self.ops[p]
                live = held + op["base_bytes"]
                held += self.fresh[p]
                peak = max(live + max(op["peak_bytes"], self.fresh[p]), held + op["gap_bytes"])
            else:
                event = self.backward[p - n]
                live, peak = held + event["base_bytes"], held + event["gap_bytes"]
            self.live.append(live)
            self.peak.append(peak)

    def value_of(self, event: dict) -> int | None:
        """The tracked value that an unpack or release is about."""
        if "saved" not in event:
            return None
        value = self.saved[event["saved"]]["value"]
        return None if self.maker[value] is None else value


class Rows:
    """Linear rows and columns as HiGHS takes them."""

    def __init__(self):
        self.cost: list[float] = []
        self.upper: list[float] = []
        self.whole: list[bool] = []
        self.starts: list[int] = []
        self.index: list[int] = []
        self.value: list[float] = []
        self.most: list[float] = []

    def variable(self, cost: float = 0.0, whole: bool = False) -> int:
        self.cost.append(cost)
        self.upper.append(1.0)
        self.whole.append(whole)
        return len(self.cost) - 1

    def at_most(self, terms: list[tuple[int, float]], most: float) -> None:
        """sum of coefficient * variable <= most"""
        self.starts.append(len(self.index))
        together: dict[int, float] = {}
        for variable, coefficient in terms:
            together[variable] = together.get(variable, 0.0) + coefficient
        for variable, coefficient in together.items():
            if coefficient != 0.0:
                self.index.append(variable)
                self.value.append(coefficient)
        self.most.append(most)

    def model(self) -> highspy.HighsLp:
        lp = highspy.HighsLp()
        lp.num_col_ = len(self.cost)
        lp.num_row_ = len(self.most)
        lp.col_cost_ = np.array(self.cost)
        lp.col_lower_ = np.zeros(len(self.cost))
        lp.col_upper_ = np.array(self.upper)
        lp.row_lower_ = np.full(len(self.most), -highspy.kHighsInf)
        lp.row_upper_ = np.array(self.most)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = np.array(self.starts + [len(self.index)], dtype=np.int32)
        lp.a_matrix_.index_ = np.array(self.index, dtype=np.int32)
        lp.a_matrix_.value_ = np.array(self.value)
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[whole] for whole in self.whole]
        return lp


class Programme:
    """Variables (all within 0 and 1, None where they can only be 0):

    run[t][i]     op i runs in the re-forward of stage t (the only ones that must be whole)
    begin[t][v]   v is held when stage t begins, and is used again
    end[t][v]     v is held when the re-forward of stage t is over, and is used again
    part[t][v]    v is there from one op that touches it (its maker, its readers) to the next
    """

    def __init__(self, step: Step, budget: int):
        self.step = step
        self.budget = budget
        self.rows = Rows()
        self.stages = [
            e
            for e, event in enumerate(step.backward)
            if event["kind"] == "unpack" and (v := step.value_of(event)) is not None and not step.must_keep[v]
        ]
        self.readers: dict[int, list[int]] = {v: [] for v in step.tracked}
        for i, needs in enumerate(step.needs):
            for v in needs:
                self.readers[v].append(i)
        self.find_useful()
        self.feasible = True
        self.run: list[dict[int, int]] = []
        self.begin: list[dict[int, int]] = []
        self.end: list[dict[int, int]] = []
        self.part: list[dict[int, list[int]]] = []
        for t in range(len(self.stages)):
            self.add_variables(t)
        self.add_forward()
        for t in range(len(self.stages)):
            self.add_stage(t)
            self.add_memory_of_run(t)
            self.add_events(t)

    def find_useful(self) -> None:
        """By stage: the ops that can help to make a value unpacked then or later, and what they read and make."""
        step = self.step
        wanted: set[int] = set()
        self.useful: list[list[int]] = [[] for _ in self.stages]
        self.about: list[list[int]] = [[] for _ in self.stages]
        later: set[int] = set()  # released in or after the stage
        for t in reversed(range(len(self.stages))):
            until = self.stages[t + 1] if t + 1 < len(self.stages) else len(step.backward)
            later |= {v for e in range(self.stages[t], until) if (v := step.value_of(step.backward[e])) is not None}
            todo = [step.value_of(step.backward[self.stages[t]])]
            while todo:
                v = todo.pop()
                i = step.maker[v]
                if i in wanted or not step.again[i]:
                    continue
                wanted.add(i)
                todo += step.needs[i]
            self.useful[t] = sorted(wanted)
            touched = {v for i in wanted for v in step.needs[i] + step.ops[i]["outputs"]}
            self.about[t] = sorted(touched | later)

    def add_variables(self, t: int) -> None:
        step, rows = self.step, self.rows
        self.run.append({i: rows.variable(max(step.ops[i]["seconds"], 0.0), whole=True) for i in self.useful[t]})
        from_forward = lambda v: step.can_keep[v]
        made_before = {v for s in range(t) for i in self.useful[s] for v in step.ops[i]["outputs"]}
        self.begin.append({v: rows.variable() for v in self.about[t] if from_forward(v) or v in made_before})
        self.end.append({v: rows.variable() for v in self.about[t]})
        runs = set(self.useful[t])
        self.part.append({v: [rows.variable() for i in self.readers[v] if i in runs] for v in self.about[t]})

    def must(self, variable: int | None) -> None:
        if variable is None:
            self.feasible = False
        else:
            self.rows.at_most([(variable, -1.0)], -1.0)

    def units(self, amount: int) -> float:
        return amount / self.budget

    def held_from_forward(self) -> dict[int, int]:
        return self.begin[0] if self.begin else {}

    def add_forward(self) -> None:
        step = self.step
        terms: list[tuple[int, float]] = []
        starting: dict[int, list[int]] = {}
        for v in self.held_from_forward():
            if not step.in_external[v]:
                starting.setdefault(step.dies[v], []).append(v)
        until = len(step.ops) + (self.stages[0] if self.stages else len(step.backward))
        for p in range(until):
            for v in starting.get(p, []):
                terms.append((self.begin[0][v], self.units(step.bytes[v])))
            if p < len(step.ops):
                self.fits(terms, step.peak[p])
        self.add_events(-1)

    def fits(self, terms: list[tuple[int, float]], bytes_: int) -> None:
        left = self.units(self.budget - bytes_)
        if left < 0:
            self.feasible = False
        self.rows.at_most(terms, left)

    def add_stage(self, t: int) -> None:
        step, rows = self.step, self.rows
        run, begin, end = self.run[t], self.begin[t], self.end[t]
        asked = step.value_of(step.backward[self.stages[t]])
        self.must(end.get(asked))
        # A re-forward runs only if the value that is asked for has never been there:
        # a hold is current until another re-forward makes the value anew.
        held = [begin[asked]] if asked in begin else []
        held += [self.end[s][asked] for s in range(t) if asked in self.end[s]]
        if asked in self.held_from_forward():
            held.append(self.held_from_forward()[asked])
        for variable in run.values():
            for before in held:
                rows.at_most([(variable, 1.0), (before, 1.0)], 1.0)
        for v in self.about[t]:
            there = [(begin[v], -1.0)] if v in begin else []
            made = [(run[step.maker[v]], -1.0)] if step.maker[v] in run else []
            previous = there + made
            readers = [i for i in self.readers[v] if i in run]
            for i, variable in zip(readers, self.part[t][v]):
                rows.at_most([(variable, 1.0)] + previous, 0.0)
                rows.at_most([(run[i], 1.0), (variable, -1.0)], 0.0)
                previous = [(variable, -1.0)]
            rows.at_most([(end[v], 1.0)] + previous, 0.0)
            if self.in_hand(v, t):
                self.must(begin.get(v))
                self.must(end[v])
            if step.must_keep[v] and step.last_event[v] > self.stages[t]:
                self.must(begin.get(v))
                self.must(end[v])
            if t + 1 < len(self.stages) and v in self.begin[t + 1]:
                rows.at_most([(self.begin[t + 1][v], 1.0), (end[v], -1.0)], 0.0)
        if t + 1 < len(self.stages):
            for v, variable in self.begin[t + 1].items():
                if v not in end:
                    rows.at_most([(variable, 1.0)], 0.0)

    def in_hand(self, v: int, t: int) -> bool:
        """Unpacked before stage t and released after it begins, or never."""
        step = self.step
        unpacked: set[int] = set()
        for event in step.backward[: self.stages[t]]:
            if step.value_of(event) == v:
                (unpacked.add if event["kind"] == "unpack" else unpacked.discard)(event["saved"])
        return bool(unpacked)

    def there_at(self, t: int, v: int, i: int) -> int | None:
        """The variable that says whether v, not made by op i, is there while op i would run."""
        step = self.step
        if step.maker[v] >= i:
            return self.begin[t].get(v)
        readers = [j for j in self.readers[v] if j in self.run[t]]
        for j, variable in zip(readers, self.part[t][v]):
            if j >= i:
                return variable
        return self.end[t].get(v)

    def add_memory_of_run(self, t: int) -> None:
        step, rows = self.step, self.rows
        position = len(step.ops) + self.stages[t]
        for i, runs in self.run[t].items():
            terms = []
            for v in self.about[t]:
                variable = self.there_at(t, v, i)
                if variable is not None and not step.in_external[v] and not self.in_bare(v, position):
                    terms.append((variable, self.units(step.bytes[v])))
            op = step.ops[i]
            terms.append((runs, self.units(max(op["peak_bytes"], step.fresh[i]))))
            for out in op["outputs"]:
                before = step.over[out]
                if before is None:
                    continue
                goes_on = self.there_at(t, before, i + 1)
                if goes_on is None:
                    continue
                copied = rows.variable()
                rows.at_most([(runs, 1.0), (goes_on, 1.0), (copied, -1.0)], 1.0)
                terms.append((copied, self.units(step.bytes[out])))
            self.fits(terms, step.live[position])

    def in_bare(self, v: int, position: int) -> bool:
        """The user's code still has it, so the bare step counts it."""
        return self.step.must_keep[v] and self.step.dies[v] > position

    def add_events(self, t: int) -> None:
        """The events from stage t (-1: the beginning of backward) to the next one."""
        step = self.step
        n = len(step.ops)
        first = self.stages[t] if t >= 0 else 0
        until = self.stages[t + 1] if t + 1 < len(self.stages) else len(step.backward)
        held = self.end[t] if t >= 0 else self.held_from_forward()
        following = self.begin[t + 1] if t + 1 < len(self.stages) else {}
        last_release: dict[int, int] = {}
        for e in range(first, until):
            event = step.backward[e]
            if event["kind"] == "release" and (v := step.value_of(event)) is not None:
                last_release[v] = e
        outlives = {v for v in held if self.never_released(v)}
        for e in range(first, until):
            terms, after = [], []
            for v, variable in held.items():
                if step.in_external[v] or self.in_bare(v, n + e) or (t < 0 and step.dies[v] > n + e):
                    continue
                size = self.units(step.bytes[v])
                goes_on = following.get(v)
                ending = last_release.get(v, -1)
                now = variable if ending >= e or v in outlives else goes_on
                then = variable if ending > e or v in outlives else goes_on
                if now is not None:
                    terms.append((now, size))
                if then is not None:
                    after.append((then, size))
            self.fits(terms, step.live[n + e])
            self.fits(after, step.peak[n + e])

    def never_released(self, v: int) -> bool:
        opened = {e["saved"] for e in self.step.backward if e["kind"] == "unpack" and self.step.value_of(e) == v}
        closed = {e["saved"] for e in self.step.backward if e["kind"] == "release" and self.step.value_of(e) == v}
        return bool(opened - closed)

    def plan(self, solution: list[float]) -> dict:
        step = self.step
        on = lambda variable: variable is not None and solution[variable] > 0.5
        keep = [v for v in step.tracked if step.must_keep[v] or on(self.held_from_forward().get(v))]
        reforwards = []
        for t in range(len(self.stages)):
            ops = [i for i, variable in self.run[t].items() if on(variable)]
            if not ops:
                continue
            made = [v for i in ops for v in step.ops[i]["outputs"]]
            kept = [v for v in made if on(self.end[t].get(v)) and not on(self.begin[t].get(v))]
            reforwards.append({"ops": ops, "keep": kept})
        seconds = sum(step.ops[i]["seconds"] for run in reforwards for i in run["ops"])
        return {
            "format": "reforward-plan",
            "version": 1,
            "solver": "reference",
            "trace_fingerprint": "0",
            "budget_bytes": self.budget,
            "predicted_peak_bytes": 0,
            "recompute_seconds": seconds,
            "keep": keep,
            "reforwards": reforwards,
        }


def solve(trace: dict, budget_bytes: int, time_limit: float = 60.0, cutoff: float = math.inf) -> Result:
    """The fastest plan within `budget_bytes`, judged by the rules of `simulate`.

    `cutoff`: recompute seconds of a plan that is known; only better ones are looked for
    (status "infeasible" then means that there is none).
    """
    step = Step(trace)
    programme = Programme(step, budget_bytes)
    if not programme.feasible:
        return Result("infeasible")
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("time_limit", time_limit)
    highs.setOptionValue("mip_rel_gap", 1e-6)
    highs.setOptionValue("mip_feasibility_tolerance", 1e-7)
    scale = 1.0 / max(sum(op["seconds"] for op in trace["ops"]), 1e-30)
    programme.rows.cost = [c * scale for c in programme.rows.cost]
    if math.isfinite(cutoff):
        highs.setOptionValue("objective_bound", cutoff * scale)
    highs.passModel(programme.rows.model())
    highs.run()
    info = highs.getInfo()
    status = highs.getModelStatus()
    bound = info.mip_dual_bound / scale if math.isfinite(info.mip_dual_bound) else 0.0
    if status == highspy.HighsModelStatus.kInfeasible:
        return Result("infeasible", bound=math.inf)
    if info.primal_solution_status != 2:  # no solution
        return Result("unknown", bound=max(bound, 0.0))
    plan = programme.plan(list(highs.getSolution().col_value))
    done = status == highspy.HighsModelStatus.kOptimal
    return Result("optimal" if done else "limit", plan["recompute_seconds"], max(bound, 0.0), plan)
