# LLVM and MLIR as targets of the same build: kvq is one of LLVM's
# LLVM_EXTERNAL_PROJECTS. See docs/Embedding.md.
if(NOT mlir IN_LIST LLVM_ENABLE_PROJECTS)
  message(FATAL_ERROR "kvq is built on MLIR: expected mlir in "
    "LLVM_ENABLE_PROJECTS, found '${LLVM_ENABLE_PROJECTS}'")
endif()
# As outside: one copy of MLIR in a process, for tools and the plugin alike.
if(NOT LLVM_LINK_LLVM_DYLIB)
  message(FATAL_ERROR "kvq links the shared libMLIR and libLLVM: expected "
    "LLVM_LINK_LLVM_DYLIB=ON, which builds both")
endif()
set(KVQ_LLVM 22.1)
if(NOT ${LLVM_VERSION_MAJOR}.${LLVM_VERSION_MINOR} VERSION_EQUAL ${KVQ_LLVM})
  message(WARNING "kvq is written for LLVM ${KVQ_LLVM}, found "
    "${LLVM_VERSION_MAJOR}.${LLVM_VERSION_MINOR}: LLVM's C++ interface changes "
    "with each release")
endif()

set(MLIR_LINK_MLIR_DYLIB ON)
set(MLIR_MAIN_SRC_DIR ${LLVM_MAIN_SRC_DIR}/../mlir)
set(MLIR_MAIN_INCLUDE_DIR ${MLIR_MAIN_SRC_DIR}/include)
set(MLIR_INCLUDE_DIRS
  ${MLIR_MAIN_INCLUDE_DIR} ${LLVM_BINARY_DIR}/tools/mlir/include)
set(LLVM_INCLUDE_DIRS ${LLVM_MAIN_SRC_DIR}/include ${LLVM_BINARY_DIR}/include)
list(APPEND CMAKE_MODULE_PATH ${MLIR_MAIN_SRC_DIR}/cmake/modules)
include(AddMLIR)
