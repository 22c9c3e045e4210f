"""lit configuration of the tests in MLIR and of the command line tools.

Not run by itself: the lit.site.cfg.py that CMake puts into the build tree sets
where things are, and loads this file.
"""

import glob
import os
import shutil

import lit.formats
import lit.util
from lit.llvm import llvm_config

config.name = "kvq"
config.suffixes = [".mlir", ".test"]
config.excludes = ["python", "lib", "Inputs"]  # python/ is pytest's
config.test_format = lit.formats.ShTest(execute_external=False)
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.kvq_build_dir, "test")

kvq_bin_dir = os.path.join(config.kvq_build_dir, "bin")
kvq_python_dir = os.path.join(config.kvq_build_dir, "python")

# --- features -----------------------------------------------------------------

if os.environ.get("KVQ_FULL") == "1":  # set by tools/check --full
    config.available_features.add("full")

if lit.util.pythonize_bool(config.kvq_build_python):
    config.available_features.add("python")
    llvm_config.with_environment("PYTHONPATH", kvq_python_dir, append_path=True)


def find_tool(name):
    """Returns the path of a tool, looked for where the CUDA toolkit may be."""
    cuda_home = os.environ.get("CUDA_HOME")
    folders = [os.path.join(cuda_home, "bin")] if cuda_home else []
    folders += [os.environ.get("PATH", ""), "/usr/local/cuda/bin"]
    return shutil.which(name, path=os.pathsep.join(folders))


# This build, to be installed, and its compilers, for headers that are written and
# programs outside the tree.
config.substitutions.append(("%kvq_source_dir", config.kvq_source_dir))
config.substitutions.append(("%kvq_build_dir", config.kvq_build_dir))
config.substitutions.append(("%c_compiler", config.c_compiler))
config.substitutions.append(("%cxx_compiler", config.cxx_compiler))

# The MLIR that it is built with.
config.substitutions.append(("%mlir_include_dir", config.mlir_include_dir))
config.substitutions.append(("%mlir_dir", config.mlir_dir))

# What files of schedules have to be of.
config.substitutions.append(("%kvq_schedule_version", config.kvq_schedule_version))

ptxas = find_tool("ptxas")
if ptxas:
    config.available_features.add("ptxas")
    config.substitutions.append(("%ptxas", ptxas))
if ptxas and find_tool("fatbinary"):
    config.available_features.add("fatbinary")

# MLIR's own driver, which kvq's plugin is loaded into. Without instrumentation it
# cannot load a plugin that has some.
stock_mlir_opt = os.path.join(config.llvm_tools_dir, "mlir-opt")
if os.path.exists(stock_mlir_opt) and "-fsanitize=" not in config.cxx_flags:
    config.available_features.add("stock-mlir-opt")
config.substitutions.append(("%stock_mlir_opt", stock_mlir_opt))
kvq_plugin = os.path.join(config.kvq_build_dir, "lib", "libKVQPlugin.so")
config.substitutions.append(("%kvq_plugin", kvq_plugin))

# What README and docs show, a decode step among it.
examples = os.path.join(config.kvq_source_dir, "docs", "examples")
config.substitutions.append(("%examples", examples))
config.substitutions.append(("%decode", os.path.join(examples, "decode.mlir")))

# --- sanitizers ---------------------------------------------------------------

if "-fsanitize=address" in config.cxx_flags:
    config.available_features.add("asan")
    # libMLIR and libLLVM come from Debian, without instrumentation. So memory
    # that both sides manage (elements of a std::vector, LLVM's bump allocators)
    # is marked by one side only, and what their globals keep looks leaked.
    config.environment["ASAN_OPTIONS"] = ":".join(
        [
            "allow_user_poisoning=0",
            "detect_container_overflow=0",
            "detect_leaks=0",
        ]
    )
    config.environment["UBSAN_OPTIONS"] = "print_stacktrace=1"
    config.environment["ASAN_SYMBOLIZER_PATH"] = os.path.join(
        config.llvm_tools_dir, "llvm-symbolizer"
    )

# The run-time library that programs with -fsanitize=thread are linked with: of
# the compiler that the build has, and installed by tools/check --full.
if glob.glob(
    os.path.join(
        os.path.dirname(config.llvm_tools_dir),
        "lib/clang/*/lib/linux/libclang_rt.tsan-*.a",
    )
):
    config.available_features.add("tsan")

# --- tools and substitutions --------------------------------------------------

llvm_config.with_environment(
    "PATH", [kvq_bin_dir, config.llvm_tools_dir], append_path=True
)
llvm_config.with_system_environment(["HOME", "CUDA_HOME", "TMPDIR"])
# The run-time libraries that mlir-runner loads.
mlir_lib_dir = os.path.join(os.path.dirname(config.llvm_tools_dir), "lib")
for library in ["c_runner_utils", "runner_utils", "float16_utils"]:
    config.substitutions.append(
        (f"%mlir_{library}", os.path.join(mlir_lib_dir, f"libmlir_{library}.so"))
    )
# Before the default, which is the interpreter that runs lit: this one has the
# Python packages.
config.substitutions.append(("%python", config.python_executable))
llvm_config.use_default_substitutions()
llvm_config.add_tool_substitutions(
    [
        "kvq-opt",
        "kvq-compile",
        "kvq-emulate",
        "kvq-fuzz",
        "kvq-lsp-server",
        "kvq-reduce",
        "kvq-translate",
        "mlir-opt",
        "mlir-runner",
        "split-file",
    ],
    [kvq_bin_dir, config.llvm_tools_dir],
)
