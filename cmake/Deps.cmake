# The libraries that tools/deps.sh puts into RONDEL_DEPS, as imported targets.

# Runs tools/deps.sh, which may take minutes. Ends with one line if it fails.
function(rondel_build_dep folder)
  message(STATUS "Building ${folder} into .deps/, once")
  set(log ${CMAKE_CURRENT_BINARY_DIR}/deps-${folder}.log)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env DEPS_PYTHON=${Python_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/deps.sh ${folder}
    OUTPUT_FILE ${log} ERROR_FILE ${log} RESULT_VARIABLE failed)
  if(failed)
    file(STRINGS ${log} lines)
    list(POP_BACK lines why)
    message(FATAL_ERROR " Rondel needs ${folder}, which tools/deps.sh cannot build (${why}; see ${log}): run ./dev setup in ${PROJECT_SOURCE_DIR}")
  endif()
endfunction()

# rondel_dep(target folder file [LINKS targets...] [DEFINES definitions...])
# Builds the folder, or adds it to `missing`, if it is not there.
macro(rondel_dep target folder file)
  cmake_parse_arguments(arg "" "" "LINKS;DEFINES" ${ARGN})
  if(RONDEL_BUILD_DEPS AND NOT EXISTS ${RONDEL_DEPS}/${folder}/lib/${file})
    rondel_build_dep(${folder})
  endif()
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
