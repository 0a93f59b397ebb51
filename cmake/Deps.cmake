# The libraries that tools/deps.sh puts into RONDEL_DEPS, as imported targets. A missing library gets no
# target; rondel_folder() reports it if a folder needs it.

# rondel_dep(target folder file [LINKS targets...] [DEFINES definitions...])
function(rondel_dep target folder file)
  cmake_parse_arguments(PARSE_ARGV 3 arg "" "" "LINKS;DEFINES")
  if(NOT EXISTS ${RONDEL_DEPS}/${folder}/lib/${file})
    return()
  endif()
  add_library(${target} UNKNOWN IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES
    IMPORTED_LOCATION ${RONDEL_DEPS}/${folder}/lib/${file}
    INTERFACE_INCLUDE_DIRECTORIES ${RONDEL_DEPS}/${folder}/include
    INTERFACE_LINK_LIBRARIES "${arg_LINKS}"
    INTERFACE_COMPILE_DEFINITIONS "${arg_DEFINES}")
endfunction()

rondel_dep(protobuf::lite protobuf libprotobuf-lite.a LINKS Threads::Threads)
rondel_dep(ONNX::onnx onnx libonnx.a
  LINKS protobuf::lite DEFINES ONNX_NAMESPACE=onnx ONNX_ML=1 ONNX_USE_LITE_PROTO=1)
