# The libraries that tools/deps.sh puts into RONDEL_DEPS, as imported targets.

# rondel_dep(target folder file [LINKS targets...] [DEFINES definitions...])
# Adds the folder to `missing` if it is not there.
macro(rondel_dep target folder file)
  cmake_parse_arguments(arg "" "" "LINKS;DEFINES" ${ARGN})
  if(NOT EXISTS ${RONDEL_DEPS}/${folder}/lib/${file})
    list(APPEND missing ${folder})
  endif()
  add_library(${target} UNKNOWN IMPORTED)
  set_target_properties(${target} PROPERTIES
    IMPORTED_LOCATION ${RONDEL_DEPS}/${folder}/lib/${file}
    INTERFACE_INCLUDE_DIRECTORIES ${RONDEL_DEPS}/${folder}/include
    INTERFACE_LINK_LIBRARIES "${arg_LINKS}"
    INTERFACE_COMPILE_DEFINITIONS "${arg_DEFINES}")
endmacro()

rondel_dep(rondel_deps::protobuf protobuf libprotobuf-lite.a LINKS Threads::Threads)
rondel_dep(rondel_deps::onnx onnx libonnx.a
  LINKS rondel_deps::protobuf DEFINES ONNX_NAMESPACE=onnx ONNX_ML=1 ONNX_USE_LITE_PROTO=1)
