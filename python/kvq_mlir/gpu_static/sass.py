"""Instructions of NVIDIA's GPUs from sm_80 on: what they are called, and where branches lead.

An instruction is 16 bytes, its kind the lowest 9 bits. Names are those of NVIDIA's disassembler, without what follows
their first point.
"""

from __future__ import annotations

from dataclasses import dataclass

SIZE = 16  # bytes of an instruction

# fmt: off
_NAMES = {
    0x002: "MOV", 0x003: "P2R", 0x004: "R2P", 0x005: "CS2R", 0x006: "VOTE", 0x007: "SEL", 0x008: "FSEL", 0x009: "FMNMX",
    0x00A: "FSET", 0x00B: "FSETP", 0x00C: "ISETP", 0x00F: "IADD3", 0x010: "IADD3", 0x011: "LEA", 0x012: "LOP3",
    0x013: "IABS", 0x016: "PRMT", 0x017: "IMNMX", 0x019: "SHF", 0x01A: "SGXT", 0x01C: "PLOP3", 0x020: "FMUL",
    0x021: "FADD", 0x022: "FSWZADD", 0x023: "FFMA", 0x024: "IMAD", 0x025: "IMAD", 0x026: "IDP", 0x027: "IMAD",
    0x028: "DMUL", 0x029: "DADD", 0x02A: "DSETP", 0x02B: "DFMA", 0x02F: "ELECT", 0x030: "HADD2", 0x031: "HFMA2",
    0x032: "HMUL2", 0x033: "HSET2", 0x034: "HSETP2", 0x035: "IADD", 0x036: "VIADD", 0x037: "IMMA", 0x03A: "MOVM",
    0x03B: "LDSM", 0x03C: "HMMA", 0x03E: "F2FP", 0x040: "HMNMX2", 0x045: "I2FP", 0x048: "VIMNMX",
    0x055: "UFFMA", 0x076: "FMNMX3", 0x07A: "QMMA", 0x082: "UMOV", 0x086: "VOTEU", 0x087: "USEL", 0x08C: "UISETP", 0x090: "UIADD3", 0x091: "ULEA", 0x092: "ULOP3", 0x097: "UIADD3",
    0x099: "USHF", 0x09C: "UPLOP3", 0x0A4: "UIMAD", 0x0A5: "UIMAD", 0x0B9: "ULDC", 0x0BD: "UFLO", 0x0CA: "R2UR",
    0x100: "FLO", 0x101: "BREV", 0x102: "FCHK", 0x104: "F2F", 0x105: "F2I", 0x106: "I2F", 0x107: "FRND", 0x108: "MUFU",
    0x109: "POPC", 0x110: "F2F", 0x111: "F2I", 0x112: "I2F", 0x118: "NOP", 0x119: "S2R", 0x11A: "DEPBAR",
    0x11B: "ENDCOLLECTIVE", 0x11D: "BAR", 0x141: "BSYNC", 0x142: "BREAK", 0x143: "CALL", 0x144: "CALL", 0x145: "BSSY",
    0x146: "YIELD", 0x147: "BRA", 0x148: "WARPSYNC", 0x149: "BRX", 0x14A: "JMP", 0x14C: "JMX", 0x14D: "EXIT",
    0x14E: "LEPC", 0x150: "RET", 0x15B: "KILL", 0x15C: "BPT", 0x15D: "NANOSLEEP", 0x180: "LD", 0x181: "LDG",
    0x182: "LDC", 0x183: "LDL", 0x184: "LDS", 0x185: "ST", 0x186: "STG", 0x187: "STL", 0x188: "STS", 0x189: "SHFL",
    0x18A: "ATOM", 0x18C: "ATOMS", 0x18E: "RED", 0x18F: "CCTL", 0x192: "MEMBAR", 0x1A1: "MATCH", 0x1A3: "ATOMG",
    0x1A7: "SYNCS", 0x1A8: "ATOMG", 0x1A9: "ATOMG", 0x1AB: "ERRBAR", 0x1AC: "LDCU", 0x1AE: "LDGSTS",
    0x1AF: "LDGDEPBAR", 0x1B1: "SYNCS", 0x1B2: "SYNCS", 0x1B3: "ARRIVES", 0x1BA: "UBLKCP", 0x1C2: "R2UR", 0x1C3: "S2UR",
    0x1C4: "REDUX", 0x1C6: "FENCE", 0x1C7: "UCGABAR",
}
# fmt: on
MATRIX = ("HMMA", "IMMA", "QMMA")  # products on tensor cores
COPIES = ("LDGSTS", "UBLKCP")  # from global to shared memory, without registers
_ENDS = ("EXIT", "RET", "KILL", "BRX", "JMP", "JMX")
_MEMORY = ("LDG", "STG", "LDS", "STS", "LDL", "STL", "LD", "ST")
_WIDTHS = (1, 1, 2, 2, 4, 8, 16, 0)


@dataclass(frozen=True)
class Instruction:
    name: str
    width: int = 0  # bytes that a thread moves, of accesses to memory and copies
    target: int | None = None  # the number of the instruction that a branch leads to
    falls: bool = True  # whether what follows may come next
    pending: int | None = None  # DEPBAR: groups of copies that may still be on their way


def _branch(word: int, index: int, count: int, sm: int) -> int | None:
    """The target: a distance in 4 bytes from the next instruction, in other bits since sm_90."""
    distance = word >> 34 & (1 << 48) - 1
    distance -= distance >> 47 << 48
    if sm >= 90:
        distance = (distance << 8) + (word >> 16 & 0xFF)
    at = SIZE * (index + 1) + 4 * distance
    return at // SIZE if at % SIZE == 0 and 0 <= at < SIZE * count else None


def _instruction(word: int, index: int, count: int, sm: int) -> Instruction:
    name = _NAMES.get(word & 0x1FF, hex(word & 0x1FF))
    always = word >> 12 & 0xF == 7
    if name == "BRA":
        # A second predicate, and what asks whether all threads agree.
        plain = always and word & 0xFFF == 0x947 and word >> 87 & 0xF == 7 and word >> 32 & 3 == 0
        return Instruction(name, target=_branch(word, index, count, sm), falls=not plain)
    if name in _ENDS:
        return Instruction(name, falls=not always)
    if name in _MEMORY:
        return Instruction(name, _WIDTHS[word >> 73 & 7])
    if name == "LDGSTS":
        return Instruction(name, 4 << (word >> (74 if sm >= 100 else 73) & 3))
    if name == "DEPBAR":
        return Instruction(name, pending=word >> 38 & 0x3F)
    return Instruction(name)


def decode(code: bytes, sm: int) -> list[Instruction]:
    """The instructions of a kernel's code for a GPU, 80 for sm_80."""
    count = len(code) // SIZE
    words = (int.from_bytes(code[SIZE * i : SIZE * (i + 1)], "little") for i in range(count))
    return [_instruction(word, i, count, sm) for i, word in enumerate(words)]
