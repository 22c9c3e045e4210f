"""tools/gpu-check: kernels of kvq checked and timed on a GPU, with Python, PyTorch and the CUDA driver alone.

`build` (build.py) compiles what plan.py lists, which needs kvq; `run` (run.py) checks it (check.py) and times it
(measure.py) on a machine of machines.py: a GPU, by driver.py and kernels.py, or kvq's emulator. Nothing here but
build.py and the emulator imports kvq_mlir.
"""


class InputError(Exception):
    """What the user can put right: the message says how."""
