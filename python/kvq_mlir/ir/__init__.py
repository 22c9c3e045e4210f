"""Templates of the modules that the package compiles: text in MLIR, one subject a file.

Each function takes what the code depends on, and returns a module. Arguments of its functions that the caller's arrays
may be read-only for carry `bufferization.writable = false`.
"""
