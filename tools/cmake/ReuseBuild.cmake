# A wheel of what a build of the same sources has already: nothing is compiled.
# The targets that python/pyproject.toml asks for have nothing to do then.
file(GLOB BUILT_MODULE ${KVQ_REUSE_BUILD}/python/kvq_mlir/_kvq.*.so)
set(BUILT_OP_TABLE ${KVQ_REUSE_BUILD}/python/kvq_mlir/_op_table.py)
if(NOT BUILT_MODULE OR NOT EXISTS ${BUILT_OP_TABLE})
  message(FATAL_ERROR
    "KVQ_REUSE_BUILD: expected a build with Python, found no _kvq.*.so and "
    "_op_table.py in ${KVQ_REUSE_BUILD}/python/kvq_mlir")
endif()
# Named after the interpreter that it is for.
if(DEFINED SKBUILD_SOABI AND NOT BUILT_MODULE MATCHES "_kvq\\.${SKBUILD_SOABI}\\.so$")
  message(FATAL_ERROR
    "KVQ_REUSE_BUILD: expected _kvq.${SKBUILD_SOABI}.so for this Python, found "
    "${BUILT_MODULE}")
endif()
add_custom_target(_kvq)
add_custom_target(KVQOpTable)
install(FILES ${BUILT_MODULE} ${BUILT_OP_TABLE} DESTINATION kvq_mlir
  COMPONENT KVQPython)
