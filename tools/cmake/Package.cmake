# `cpack -G DEB` in a build: a Debian package of what `cmake --install` installs.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME kvq)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY
  "MLIR dialect and compiler for quantized KV caches")
set(CPACK_PACKAGE_CONTACT "kvq maintainers")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT) # kvq_0.1.0_amd64.deb
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
# Of the release that kvq was built with: LLVM's C++ interface changes with each.
set(LLVM_PACKAGES "(>= 1:${LLVM_VERSION_MAJOR}.${LLVM_VERSION_MINOR})")
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libmlir-${LLVM_VERSION_MAJOR} ${LLVM_PACKAGES}, \
libllvm${LLVM_VERSION_MAJOR} ${LLVM_PACKAGES}, libstdc++6, libgcc-s1, libc6")
# Headers of MLIR for programs that link the libraries, and threads of kernels.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS
  "libmlir-${LLVM_VERSION_MAJOR}-dev, mlir-${LLVM_VERSION_MAJOR}-tools, libomp5")
include(CPack)
