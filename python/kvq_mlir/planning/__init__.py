"""Precision as a resource: formats for the keys and values of each layer, within bytes and errors."""

from .held_out import HeldOut, Measured
from .knapsack import Chosen, Option, least_value, least_weight
from .ledger import Ledger
from .policy_text import policy_text
from .problem import Cost, Limits, Plan, Problem

__all__ = [
    "Chosen",
    "Cost",
    "HeldOut",
    "Ledger",
    "Limits",
    "Measured",
    "Option",
    "Plan",
    "Problem",
    "least_value",
    "least_weight",
    "policy_text",
]
