"""The reference's rotation and centring, against hand-worked and published values."""


import numpy as np
import pytest
from conftest import fresh_rng
from kvq_mlir import reference
from kvq_mlir.reference import Cache, Calibration, FloatType, Format

EXACT = "codes = i8, group = [1, *], scale = f32"
F32_LARGEST = (2**24 - 1) * 2.0**104


def fmt(text: str) -> Format:
    return Format.parse(text)


def row(values) -> np.ndarray:
    """One token of one head."""
    return np.asarray(values, np.float32).reshape(1, 1, 1, -1)


def test_hadamard_of_four_channels():
    # Stride 1: 3 -1 7 -1; stride 2: 10 -2 -4 0.
    assert reference.hadamard(np.float32([1, 2, 3, 4]), 4).tolist() == [10, -2, -4, 0]
    assert reference.hadamard(np.float32([1, 2, 3, 4]), 2).tolist() == [3, -1, 7, -1]  # two blocks
    # Stride 1 first: 2^24 + 1 is 2^24, 2^24 - 1 stays. Stride 2 first would make channel 1 2^24 - 2.
    want = [2**24 + 2, 2**24 - 1, 2**24 - 2, 2**24 - 1]
    assert reference.hadamard(np.float32([2**24, 1, 1, 1]), 4).tolist() == want


def test_hadamard_is_sylvesters_matrix():
    n = 64
    matrix = np.array([[(-1) ** (i & j).bit_count() for j in range(n)] for i in range(n)])
    x = fresh_rng().integers(-9, 10, (3, 2 * n)).astype(np.float64)
    assert np.array_equal(reference.hadamard(x, n), (x.reshape(3, 2, n) @ matrix).reshape(3, 2 * n))


def test_rotation_comes_before_the_range():
    # 5 -1 -2 0 with 1/2 for the root of 4: absolute maximum 5, over 127.
    f = fmt(f"{EXACT}, rotate = hadamard<4>")
    codes, scales, _ = reference.quantize(row([1, 2, 3, 4]), f, "f32")
    assert scales.item() == np.float32(5) / np.float32(127)
    assert codes.flatten().tolist() == [127, -25, -51, 0]  # -25.4, -50.8
    # With the second sign turned: 1 -2 3 4, then -1 3 7 -1, then 6 2 -8 4, halved.
    given = Calibration(signs=np.int8([1, -1, 1, 1]))
    codes, scales, _ = reference.quantize(row([1, 2, 3, 4]), f, "f32", given)
    assert scales.item() == np.float32(4) / np.float32(127)
    assert codes.flatten().tolist() == [95, 32, -127, 64]  # 95.25, 31.75, -127, a tie of 63.5


def test_the_root_is_a_rounded_f32():
    # 1/sqrt 2 in f32 is 3f3504f3.
    root = np.uint32([0x3F3504F3]).view(np.float32)
    _, scales, _ = reference.quantize(row([3, 1]), fmt("codes = i2, group = [1, 1], scale = f32, rotate = hadamard<2>"))
    assert scales.flatten().tolist() == [4 * root.item(), 2 * root.item()]


def test_rotated_values_are_not_rounded_to_the_element_type():
    # 2048 + 1 is no f16; the elements are.
    f = fmt("codes = i2, group = [1, 1], scale = f32, rotate = hadamard<4>")
    assert reference.quantize(row([2048, 1, 0, 0]), f, "f16")[1].flatten().tolist() == [1024.5, 1023.5, 1024.5, 1023.5]
    # The elements are rounded before: 2049 is 2048.
    assert reference.quantize(row([2049, 0, 0, 0]), f, "f16")[1].flatten().tolist() == [1024] * 4


def test_rotation_of_large_elements_stays_finite():
    f = fmt("codes = i2, group = [1, 1], scale = f32, rotate = hadamard<4>")
    _, scales, _ = reference.quantize(row([np.inf] * 4), f, "f32")
    assert scales.flatten().tolist() == [F32_LARGEST / 2, 0, 0, 0]
    _, scales, _ = reference.quantize(row([np.inf, 0, 0, -np.inf]), f, "bf16")  # clamped: (2^24-1) 2^102
    assert scales.flatten().tolist() == [0, F32_LARGEST / 4, F32_LARGEST / 4, 0]


def test_nan_makes_its_rotated_block_nan():
    f = fmt("codes = i4, group = [1, 1], scale = f32, rotate = hadamard<2>")
    codes, scales, _ = reference.quantize(row([np.nan, 1, 1, 3]), f)
    assert np.isnan(scales).flatten().tolist() == [True, True, False, False] and codes.flatten()[:2].tolist() == [0, 0]


@pytest.mark.parametrize("signs", [False, True])
@pytest.mark.parametrize("center", [None, "f16", "bf16", "f32"])
def test_caches_rotate_back_and_keep_windows_plain(signs, center):
    rng = fresh_rng()
    x = rng.standard_normal((1, 2, 9, 32)).astype(np.float32)
    mean = rng.standard_normal((2, 32)).astype(np.float32) * 10
    given = Calibration(
        signs=np.where(rng.integers(0, 2, 32), 1, -1).astype(np.int8) if signs else None,
        mean=None if center is None else FloatType.named(center).encode(mean),
    )
    if center is not None:
        x += mean[:, None]
    f = fmt(f"{EXACT}, rotate = hadamard<16>" + (f", center = {center}" if center else ""))
    cache = Cache(f, 1, 2, 32, 16, dtype="f32", exact_first=2, recent=3, calibration=given)
    cache.append(x)
    values = cache.values64(0)
    assert np.array_equal(values[:, :2], x[0, :, :2]) and np.array_equal(values[:, 6:], x[0, :, 6:])
    error = values[:, 2:6] - x[0, :, 2:6]
    assert 1e-4 < np.abs(error).max() < 0.08  # half a step of 4/127 in each rotated channel, not of 14/127
    assert np.sqrt(np.mean(error**2)) < 0.015


def test_center_is_subtracted_in_f32():
    # 3 - 1, 5 - 1.5, -2 - 1.5: absolute maximum 3.5.
    f = fmt("codes = i8, group = [1, *], scale = f32, center = f16")
    given = Calibration(mean=np.float16([[1, 1.5, 1.5]]))
    codes, scales, _ = reference.quantize(row([3, 5, -2]), f, "f16", given)
    assert scales.item() == np.float32(3.5) / np.float32(127) and codes.flatten().tolist() == [73, 127, -127]
    # What overflows stays finite.
    f = fmt("codes = i2, group = [1, 1], scale = f32, center = f32")
    given = Calibration(mean=np.float32([[-F32_LARGEST, F32_LARGEST]]))
    assert reference.quantize(row([np.inf, 0]), f, "f32", given)[1].flatten().tolist() == [F32_LARGEST] * 2
    f = fmt("codes = ui4, group = [1, 1], scale = f32, zero = min f32, center = f32")
    given = Calibration(mean=np.float32([[F32_LARGEST]]))
    codes, scales, zeros = reference.quantize(row([-np.inf]), f, "f32", given)
    assert (codes.item(), scales.item(), zeros.item()) == (0, 0, -F32_LARGEST)


@pytest.mark.parametrize("bits, error", [(1, 0.361), (2, 0.116), (3, 0.0340), (4, 0.0093)])
def test_error_of_rotated_unit_vectors(bits, error):
    # TurboQuant's squared errors at d = 128.
    rng = fresh_rng()
    x = rng.standard_normal((1, 4, 2000, 128))
    x = (x / np.linalg.norm(x, axis=-1, keepdims=True)).astype(np.float32)
    policy = "range = norm, rotate = hadamard<128>"
    f = fmt(f"codes = #kvq.codebook<lloyd_max = {bits}>, group = [1, *], scale = f32, {policy}")
    given = Calibration(signs=np.where(rng.integers(0, 2, 128), 1, -1).astype(np.int8))
    values = reference.dequantize64(*reference.quantize(x, f, "f32", given), f, given)
    got = np.sum((reference.restore64(values, f, given) - x) ** 2, axis=-1)
    assert np.mean(got) == pytest.approx(error, rel=0.02)


def test_rotation_spreads_an_outlier():
    # One channel of 100 beside 1 and -1 takes all codes but its own to 0; rotated, all are within 1 of each other.
    x = row(np.where(np.arange(64) == 5, 100, np.where(np.arange(64) % 2, 1, -1)))
    text = "codes = i4, group = [1, *], scale = f32"
    plain = reference.quantize(x, fmt(text))[0]
    rotated = reference.quantize(x, fmt(f"{text}, rotate = hadamard<64>"))[0]
    assert np.count_nonzero(plain) == 1 and np.count_nonzero(rotated) == 64


@pytest.mark.parametrize(
    "text, message",
    [
        ("rotate = hadamard<48>", "power of two from 2 on, got 48"),
        ("rotate = hadamard<1>", "got 1"),
        ("rotate = fourier<8>", "expected hadamard<n>"),
        ("center = i8", "unknown type 'i8' of the center"),
    ],
)
def test_parse_errors(text, message):
    with pytest.raises(ValueError, match=message):
        fmt(f"{EXACT}, {text}")
    with pytest.raises(ValueError, match="has no rotate"):
        fmt("codes = none, rotate = hadamard<8>")


def test_text_round_trips():
    text = "codes = i4, group = [1, 32], scale = f16, rotate = hadamard<64>, center = bf16"
    assert str(fmt(text)) == text and fmt(str(fmt(text))) == fmt(text)


def test_errors_have_both_numbers():
    f = fmt(f"{EXACT}, rotate = hadamard<64>")
    with pytest.raises(ValueError, match="96.*rotation's 64"):
        Cache(f, 1, 1, 96, 8)
    with pytest.raises(ValueError, match=r"\(64,\), got \(32,\)"):
        Cache(f, 1, 1, 64, 8, calibration=Calibration(signs=np.ones(32, np.int8)))
    with pytest.raises(ValueError, match=r"1 or -1, got \[0\]"):
        Cache(f, 1, 1, 64, 8, calibration=Calibration(signs=np.zeros(64, np.int8)))
    with pytest.raises(ValueError, match="no use for given 'signs'"):
        Cache(fmt(EXACT), 1, 1, 64, 8, calibration=Calibration(signs=np.ones(64, np.int8)))
    f = fmt(f"{EXACT}, center = f16")
    for mean, message in (
        (None, "needs a given 'mean'"),
        (np.zeros((3, 64), np.float16), r"\(2, 64\) or \(1, 64\), got \(3, 64\)"),
        (np.zeros((2, 64), np.float32), "as float16, got float32"),
        (np.full((2, 64), np.nan, np.float16), "finite"),
    ):
        with pytest.raises(ValueError, match=message):
            Cache(f, 1, 2, 64, 8, calibration=Calibration(mean=mean))
