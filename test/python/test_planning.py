"""Plans: the solver against exhaustive search, limits that cannot be kept, policies as text, what is kept of
measurements."""

import itertools
import math
import subprocess

import kvq_mlir as kvq
import numpy as np
import pytest
from kvq_mlir.cache_types import SIDES
from kvq_mlir.evaluation import EXACT, Kept
from kvq_mlir.planning import Cost, Ledger, Limits, Option, Problem, least_value, least_weight, policy_text
from kvq_mlir.planning.compare import rank_uniform, with_best_single
from kvq_mlir.planning.costs import Costs
from kvq_mlir.planning.held_out import Measured
from kvq_mlir.planning.menu import default_menu, uniform_menu
from kvq_mlir.planning.policy_text import layer_ranges
from kvq_mlir.planning.problem import changes, starts_apart
from kvq_mlir.text import InputError
from lowerings import KVQ_OPT

I8, I4, I2 = (Kept(f"codes = i{bits}, group = [1, 32], scale = f16") for bits in (8, 4, 2))
BY_CHANNEL = "codes = ui4, group = [8, 1], scale = f16, zero = min f16"


def draw_items(rng: np.random.Generator, items: int, options: int) -> list[list[Option]]:
    """Integer weights; values with ties, and no order between the two."""
    values = rng.integers(0, 6, (items, options)) / 4 if rng.random() < 0.5 else rng.random((items, options))
    weights = rng.integers(1, 30, (items, options))
    counts = rng.integers(1, options + 1, items)
    return [[Option(int(w), float(v)) for w, v in zip(weights[i, :n], values[i, :n])] for i, n in enumerate(counts)]


def all_choices(items: list[list[Option]]):
    """(weight, value) of every choice, summed in the items' order."""
    for chosen in itertools.product(*items):
        weight = value = 0.0
        for option in chosen:
            weight, value = weight + option.weight, value + option.value
        yield weight, value


@pytest.mark.parametrize("count", range(1, 7))
def test_solver_against_exhaustive_search(count, rng):
    for _ in range(25):
        items = draw_items(rng, count, 5)
        choices = list(all_choices(items))
        for capacity in (
            *rng.integers(count, 30 * count, 3),
            min(w for w, _ in choices),
            min(w for w, _ in choices) - 1,
        ):
            expected = min((value for weight, value in choices if weight <= capacity), default=None)
            found = least_value(items, int(capacity))
            assert (found and found.value) == expected
            if found:
                picked = [options[i] for options, i in zip(items, found.options, strict=True)]
                assert found.weight == sum(option.weight for option in picked) <= capacity
        just_below = (math.nextafter(float(v), -math.inf) for v in rng.choice([v for _, v in choices], 5))
        for limit in (*(rng.random(3) * count), min(v for _, v in choices), *just_below):
            expected = min((weight for weight, value in choices if value <= limit), default=None)
            found = least_weight(items, limit)
            assert (found and found.weight) == expected


def test_solver_on_a_large_problem_agrees_with_itself(rng):
    """No choice of 60 items can be searched for; but the lightest choice of the least value, and the other way round,
    are the same, and a little less of either has no such choice."""
    items = [
        [Option(int(1000 * bits + rng.integers(100)), float(4.0**-bits * scale)) for bits in range(1, 9)]
        for scale in rng.lognormal(0, 1, 60)
    ]
    best = least_value(items, 180_000)
    lightest = least_weight(items, best.value)
    assert lightest.value == pytest.approx(best.value, rel=1e-12) and lightest.weight <= best.weight <= 180_000
    again = least_value(items, lightest.weight)
    assert again.value == pytest.approx(best.value, rel=1e-12)
    assert least_value(items, lightest.weight - 1).value > best.value
    assert least_weight(items, best.value * (1 - 1e-6)).weight > lightest.weight


def draw_costs(rng: np.random.Generator, layers: int) -> dict:
    """Of three formats beside 16 bits, drawn for every side of every layer."""
    return {
        (layer, side): {EXACT: Cost(1024, 0.0, 0.0, 0.0)}
        | {
            kept: Cost(
                bytes_ + int(rng.integers(20)),
                float(rng.random() * 4.0 ** -math.log2(bytes_ / 128)),
                float(error),
                float(error),
            )
            for kept, bytes_, error in zip((I8, I4, I2), (544, 288, 160), np.sort(rng.random(3)), strict=True)
        }
        for layer in range(layers)
        for side in SIDES
    }


def all_plans(costs: dict):
    """(bytes, KL, plan) of every plan."""
    for kept in itertools.product(*costs.values()):
        plan = dict(zip(costs, kept, strict=True))
        yield *(sum(getattr(costs[where][each], of) for where, each in plan.items()) for of in ("bytes", "kl")), plan


def test_plan_and_its_neighbours_against_all_plans(rng):
    costs = draw_costs(rng, 3)
    plans = [(bytes_, kl) for bytes_, kl, _ in all_plans(costs)]
    sizes = [bytes_ for bytes_, _ in plans]
    budget = int(rng.integers(min(sizes), max(sizes) + 10))
    problem = Problem(costs, Limits(bytes=budget))
    chosen = problem.solve()
    least = min(kl for bytes_, kl in plans if bytes_ <= budget)
    assert chosen.value == pytest.approx(least, rel=1e-12) and chosen.weight <= budget
    plan = problem.plan(chosen)
    assert chosen.weight == sum(costs[where][kept].bytes for where, kept in plan.items())
    assert chosen.value == pytest.approx(sum(costs[where][kept].kl for where, kept in plan.items()), rel=1e-12)
    cheaper, better = problem.cheaper(chosen), problem.better(chosen)
    lighter = [kl for bytes_, kl in plans if bytes_ < chosen.weight]
    assert cheaper.value == pytest.approx(min(lighter), rel=1e-12) if lighter else cheaper is None
    lower = [bytes_ for bytes_, kl in plans if kl < chosen.value * (1 - 1e-9)]
    assert better.weight == min(lower) if lower else better is None
    assert changes(plan, plan) == [] and all(changes(plan, problem.plan(other)) for other in (cheaper, better) if other)


def test_fewest_bytes_within_a_kl(rng):
    costs = draw_costs(rng, 2)
    limit = float(rng.uniform(0.01, 1))
    chosen = Problem(costs, Limits(kl=limit)).solve()
    assert chosen.weight == min(bytes_ for bytes_, kl, _ in all_plans(costs) if kl <= limit) and chosen.value <= limit


def test_limits_on_errors_and_exempt_layers(rng):
    costs = draw_costs(rng, 3)
    limit = max(options[I8].output_error for options in costs.values())
    exempt = frozenset({(0, "keys"), (2, "values")})
    problem = Problem(costs, Limits(bytes=4700, output_error=limit, score_error=limit), exempt)
    plan = problem.plan(problem.solve())
    assert all(costs[where][kept].output_error <= limit for where, kept in plan.items())
    assert all(plan[where] == EXACT for where in exempt)
    assert any(kept != EXACT for kept in plan.values())


def test_groups_of_tokens_of_a_layer_start_together():
    """Attention has no kernel where keys and values have groups of several tokens from different tokens on."""
    first, later = Kept(BY_CHANNEL), Kept(BY_CHANNEL, exact_first=4)
    assert starts_apart(first, later) and not starts_apart(first, first) and not starts_apart(first, I4)
    costs = {
        (0, "keys"): {first: Cost(10, 1.0), later: Cost(11, 0.9)},
        (0, "values"): {first: Cost(10, 1.0), later: Cost(11, 0.2)},
    }
    plan = Problem(costs, Limits(bytes=21)).plan(Problem(costs, Limits(bytes=21)).solve())
    assert plan == {(0, "keys"): first, (0, "values"): first}  # 21 bytes would allow a mix of less KL
    with pytest.raises(InputError, match="layer 0: no pair of the formats allowed has a kernel"):
        Problem({(0, "keys"): {first: Cost(1, 1.0)}, (0, "values"): {later: Cost(1, 1.0)}}, Limits(bytes=9)).solve()


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (
            Limits(bytes=399),
            "no plan keeps the limit on bytes: the least is 400 bytes, 1 bytes above the limit of 399 bytes",
        ),
        (
            Limits(kl=0.05),
            "no plan keeps the limit on KL: the least is 0.2 nats, 0.15 nats above the limit of 0.05 nats",
        ),
        (
            Limits(bytes=500, kl=0.5),
            "within 500 bytes the least predicted KL is 1.1 nats, 0.6 above the limit of 0.5; that takes at least 600 "
            "bytes, 100 more",
        ),
        (
            Limits(bytes=600, output_error=0.01),
            "layer 0, keys: no format allowed keeps the output error within 1.000%; the least is 10.000%, 9.000%",
        ),
        (
            Limits(bytes=600, score_error=0.01),
            "layer 0, keys: no format allowed keeps the score error within 1.000%; the least is 5.000%, 4.000%",
        ),
        (Limits(), "expected a limit on bytes or on the KL"),
    ],
)
def test_infeasible_limits_say_which_and_by_how_much(limits, message):
    options = {I4: Cost(300, 0.1, 0.1, 0.05), I2: Cost(200, 1.0, 0.2, 0.1)}
    with pytest.raises(InputError) as error:
        Problem({(0, side): options for side in SIDES}, limits).solve()
    assert message in str(error.value)


def test_layer_ranges():
    assert layer_ranges([5, 0, 2, 3, 4, 8, 9]) == "0, 2:6, 8, 9"
    assert layer_ranges([1, 2, 3], join="-", end=0) == "1-3"


def draw_plan(rng: np.random.Generator, layers: int) -> dict:
    """Any formats of the menu, windows included, and 16 bits."""
    menu = {side: [*kepts, EXACT] for side, kepts in default_menu().items()}
    return {(layer, side): menu[side][rng.integers(len(menu[side]))] for layer in range(layers) for side in SIDES}


def test_policy_text_is_read_back(rng):
    plan = draw_plan(rng, 30)
    for kept in (plan, {where: EXACT for where in plan}):
        choices = kvq.Policy(policy_text(kept)).choose(30, 3)
        assert len(choices) == 60
        for choice in choices:
            expected = kept[choice.layer, choice.side].choice(choice.layer, choice.side, 3)
            # A policy says `recent = 0` of groups that wait until they are full.
            assert (choice.heads, choice.windows) == (expected.heads, expected.windows)
            assert str(choice.format) == str(expected.format)


def test_policy_text_is_what_the_compiler_takes(rng, tmp_path):
    """kvq-opt gives the caches of a step their formats by it."""
    plan = draw_plan(rng, 2)
    policy = tmp_path / "policy.mlir"
    policy.write_text(policy_text(plan))
    exact = "!kvq.cache<1x3x?x64xf16, #kvq.format<codes = none>>"
    caches = [f"%{side[0]}{layer}: {exact} {{kvq.layer = {layer} : i64}}" for layer in range(2) for side in SIDES]
    q = "tensor<1x9x1x64xf32>"
    outs = [f"%out{layer}: {q}" for layer in range(2)]
    body = "\n".join(
        f"%o{layer} = kvq.attention ins(%q, %k{layer}, %v{layer} : {q}, {exact}, {exact}) lengths(%n : tensor<1xi64>) "
        f"outs(%out{layer} : {q}) {{scale = 1.0 : f32}} -> {q}"
        for layer in range(2)
    )
    arguments = ", ".join([f"%q: {q}", *caches, *outs, "%n: tensor<1xi64>"])
    module = f"func.func @step({arguments}) -> ({q}, {q}) {{\n{body}\nreturn %o0, %o1 : {q}, {q} }}"
    step = tmp_path / "step.mlir"
    step.write_text(module)
    run = subprocess.run(
        [KVQ_OPT, step, f"-kvq-apply-policy=policy-file={policy}"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    for (layer, side), kept in plan.items():
        expected = kept.choice(layer, side, 3)
        assert expected.format.codes in run.stdout, (layer, side)
        if kept.recent:
            assert f"recent = {kept.recent}" in run.stdout


def test_menus_fit_the_model():
    for menu in (default_menu(), uniform_menu()):
        for side, kepts in menu.items():
            assert len(set(kepts)) == len(kepts)
            for kept in kepts:
                assert kept.bytes(side, 3, 64, 256) > 0
                assert Kept.parse(str(kept)) == kept


def test_bytes_of_a_format_are_those_of_its_cache(rng):
    for side, kepts in default_menu().items():
        kept, tokens, sequences = kepts[rng.integers(len(kepts))], int(rng.integers(100, 400)), 2
        given = kvq.calibrate(rng.standard_normal((1, 3, 8, 64), np.float32), kept.parsed)
        cache = kept.choice(0, side, 3).cache(sequences, tokens, 64, given=given)
        assert 0 <= kept.bytes(side, 3, 64, tokens, sequences) - cache.nbytes < 64 * len(cache.storage())  # alignment


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("codes = i4, group = [1, 32], scale = f16; newest = 3", "expected exact_first, recent or residual = a number"),
        ("codes = i4, group = [1, 32], scale = f16; recent = 3; recent = 4", "each once, got 'recent = 4'"),
        ("codes = i4", "group"),
    ],
)
def test_kept_text_that_is_none(text, message):
    with pytest.raises(kvq.Error, match=message):
        Kept.parse(text)


def test_ledger_goes_on_where_it_stopped(tmp_path):
    path = tmp_path / "made" / "measurements.jsonl"
    first = Ledger(path).of("a model")
    assert first.find("kl", 0, measure=lambda: 0.25) == 0.25
    again = Ledger(path)
    assert again.of("a model").find("kl", 0, measure=lambda: pytest.fail("measured twice")) == 0.25
    assert again.of("another").find("kl", 0, measure=lambda: 0.5) == 0.5  # what it is of counts
    path.write_text('["whole", 1]\n["half', encoding="utf-8")
    with pytest.raises(InputError, match=r"measurements.jsonl, line 2: expected \[key, value\] in JSON"):
        Ledger(path)


def test_predicted_kl_is_quadratic_in_the_error(tmp_path):
    """Exact for the probe itself; half the error is a quarter of the KL."""
    ledger = Ledger()
    for side, weight in (("keys", 2.0), ("values", 3.0)):
        ledger.find("output_error", side, str(I2), measure=lambda: [0.4, 0.2])
        ledger.find("output_error", side, str(I4), measure=lambda: [0.2, 0.1])
        for layer, error in enumerate((0.4, 0.2)):
            ledger.find("kl", layer, side, str(I2), measure=lambda weight=weight, error=error: weight * error**2)
    costs = Costs(lambda: pytest.fail("measured"), 2, ledger, {side: [I2] for side in SIDES})
    found = costs.of({side: [I4, I2] for side in SIDES}, lambda side, kept: len(str(kept)))
    assert found[0, "keys"][I2].kl == pytest.approx(2 * 0.16) and found[0, "keys"][I4].kl == pytest.approx(2 * 0.04)
    assert found[1, "values"][I4].kl == pytest.approx(3 * 0.01) and found[1, "values"][EXACT].kl == 0
    assert found[1, "values"][I4].bytes == len(str(I4))
    ranked = rank_uniform(found, 4 * len(str(I4)))
    assert (ranked[0].keys, ranked[0].values) == (EXACT, EXACT)  # the lightest text is the best one here
    assert [each.predicted_kl for each in ranked] == sorted(each.predicted_kl for each in ranked)
    unequal = [each for each in ranked if each.keys != each.values]
    single = next(each for each in ranked if each.keys == each.values)
    assert with_best_single([*unequal, *ranked], 1) == [unequal[0], single]
    assert with_best_single(ranked, 1) == ranked[:1]  # which is a single one


def test_intervals_of_a_ratio_are_paired():
    """Blocks that are hard for both leave the ratio alone: its interval is a point where one is twice the other."""
    blocks = np.random.default_rng().lognormal(0, 2, 64)
    plan, uniform = (Measured(scale * blocks, 1.0, 2.0, 2.0) for scale in (1, 2))
    assert plan.ratio_interval(uniform) == pytest.approx((0.5, 0.5))
    low, high = plan.kl_interval
    assert low < plan.kl < high
