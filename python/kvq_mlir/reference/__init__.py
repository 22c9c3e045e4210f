"""The oracle of kvq: quantized KV caches and attention over them, in plain NumPy.

Codes are computed in IEEE float32, attention in float64. Everything here is written from the text of the semantics,
not from any compiled code, so that the compiled code can be checked against it. Shapes are [batch, heads, tokens, dim].

The rules
=========
Every implementation copies these bit for bit. All arithmetic is IEEE binary32, rounded to nearest even, with
subnormals (no flush to zero), no contraction and no reciprocal, unless a rule says otherwise. min, max and clamp
propagate NaN. Comparisons are ordered: false when an operand is NaN. NaN is one value: its sign and payload are not
part of the result.

Names: T is the cache's element type, S the stored type of the scale, Z that of the zero. For a type X, max(X) is its
largest finite value, normal(X) its smallest positive normal, unit(X) its smallest positive subnormal: 65504, 2^-14
and 2^-24 for f16; (2^24-1)*2^104, 2^-126 and 2^-149 for f32. b is the code width. N is the largest code: 2^(b-1)-1
for signed codes, 2^b-1 for unsigned; M the smallest: -N for signed (-2^(b-1) is never produced), 0 for unsigned.

Elements
 R1  An element is e = round_T(clamp(x, -max(T), max(T))), once, when it enters the cache. So +-inf, and finite values
     that would round to it, become +-max(T); NaN stays NaN; the sign of zero is kept. Exact windows hold e, and a
     window that is quantized later is quantized from e. The following rules see f32(e), which is exact.

Range of a group (n tokens x g channels of one sequence and one head)
 R2  absmax: a = max |e|.
     minmax: lo = min e + (+0), hi = max e + (+0), a = hi - lo.
     Adding +0 turns -0 into +0, so that neither the order of the reduction nor how it treats signed zeros is visible.
     Where T is as wide as f32, hi - lo may overflow to +inf: R5 then gives the cap, and elements beyond lo + N * cap
     take the code N. A NaN among the elements makes a and lo NaN. Padding is no element.

Scale
 R3  s = a / N, one f32 division.
 R4  If s < normal(S): the stored scale is k * unit(S), where k = ceil((a / unit(S)) / N). a / unit(S) scales by a
     power of two and is exact (times 2^24 for f16; times 2^75, then times 2^74, for f32); the division by N is one
     f32 division; k is an integer <= normal(S)/unit(S); the product is exact. In words: where S loses precision the
     scale is rounded up, to the smallest one that covers the group (up to the rounding of that f32 division). It is 0
     if and only if a is 0.
 R5  Otherwise, NaN and +inf included: the stored scale is round_S(min(s, cap)), where cap is the largest value of S
     with N * cap <= max(f32). For f16 it is 65504 whatever N is. For f32 it is max(f32)/N rounded towards zero; beside
     an overflowed range it binds only for N = 127, since 1, 3, 7, 15 and 255 divide 2^24-1. So code * scale is finite
     in f32. s is f32 first and is then rounded to S: two roundings, by definition.
 R6  The scale is never negative and never -0. It is finite if all elements are numbers, else NaN.

Zero (a real minimum, `zero = min Z`)
 R7  The stored zero is round_Z(clamp(lo, -max(Z), max(Z))): to nearest; no rounding up where it underflows, and a
     negative one that underflows to nothing is -0. It is NaN if the group holds a NaN. The scale comes from the
     unrounded lo (R2), so rounding or clamping the zero does not change the scale.

Codes
 R8  With s' = f32(stored scale), z' = f32(stored zero):
     if s' > 0:  c = clamp(roundeven((e - z') / s'), M, N), or clamp(roundeven(e / s'), M, N) without a zero. The
                 subtraction and the division are each rounded. The quotient may be +-inf; it is clamped before the
                 conversion to integer.
     otherwise (s' is 0 or NaN): c = 0. No quotient is used, so none is converted from NaN.
     s' > 0 implies that the group holds no NaN.
 R9  What follows. A constant group with a real minimum: a = 0, scale 0, codes 0, value = round_Z(constant), clamped.
     A group of zeros without a zero: scale 0, codes 0, value +0. Without a zero, an element that is no farther out
     than (N + 1/2) * s' is at most half of s' away from its value, up to the rounding of the division; R3 to R5 put
     every element of a group with s <= cap there.

Values
 R10 dequantize (float32): v = fl(c * s') without a zero, v = fl(fl(c * s') + z') with one. Rounded twice: a fused
     multiply-add is not allowed where S is f32. Where S is f16, c * s' is exact in f32, there is one rounding, and
     fused or not gives the same bits. The sum may overflow to inf only where the group's maximum is within one part
     in 2^22 of max(f32) and its minimum is at least 2^103.
 R11 dequantize64 (float64), which attention reads: c * s' is exact, the sum with z' is rounded once, to float64.

Caches
 R12 With E = exact_first, R = recent, n tokens a group: f(length) = floor(max(0, length - E - R) / n) * n; with
     R = residual instead, f(length) = floor(max(0, length - E) / R) * R. An append sets
     flushed = max(flushed, f(length)). Tokens [0, E) are exact, [E, E + flushed) quantized in groups counted from E,
     the rest exact. With `codes = none`, n = 1 and nothing is ever flushed.
     Tokens beyond a sequence's count are padding: they are never read.
     A cut to at most m tokens sets length = min(length, m), flushed = min(flushed, max(0, length - E)); m - E has to be
     a multiple of n where it is between 0 and flushed.

Packing
 R13 A row of D codes of b bits has k = 8/b planes and D/k bytes: byte j holds element j in its lowest b bits, element
     j + D/k in the next b, and so on. Signed codes are two's complement. k must divide D.
"""

from .attention import attention
from .cache import Cache
from .formats import CodeType, FloatType, Format, Zero
from .quantization import dequantize, dequantize64, pack, quantize, to_element, unpack

__all__ = [
    "Cache",
    "CodeType",
    "FloatType",
    "Format",
    "Zero",
    "attention",
    "dequantize",
    "dequantize64",
    "pack",
    "quantize",
    "to_element",
    "unpack",
]
