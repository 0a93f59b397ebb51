# rondel_precompile(target headers...): precompiles headers that nearly every file of the target
# includes. Files still include the headers that they use: RONDEL_PRECOMPILE=OFF builds, too.
function(rondel_precompile target)
  if(RONDEL_PRECOMPILE)
    target_compile_options(${target} PRIVATE -fpch-preprocess)
    # In angle brackets: CMake writes other names as absolute paths, and ccache could then reuse a
    # precompiled header of another checkout.
    list(TRANSFORM ARGN REPLACE "^([^<].*)$" "<\\1>")
    target_precompile_headers(${target} PRIVATE ${ARGN}
      <algorithm> <functional> <map> <memory> <optional> <span> <string> <unordered_map> <vector>)
  endif()
endfunction()

# rondel_folder(name path [LINKS folders...] [BORROWS libraries...] [UNITY n]
#               [PRECOMPILES headers... | PRECOMPILED_BY folder])
# One static library rondel_<name> for the sources of src/<path>. BORROWS: third-party libraries.
# UNITY: with RONDEL_UNITY on, n files are compiled at a time. PRECOMPILED_BY: reuses the precompiled
# headers of another folder, which must have the same definitions. A folder without sources gets no
# library, and links to it are dropped.
function(rondel_folder name path)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "UNITY;PRECOMPILED_BY" "LINKS;BORROWS;PRECOMPILES")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${path}/*.cpp)
  if(NOT sources)
    return()
  endif()
  add_library(rondel_${name} STATIC ${sources})
  target_link_libraries(rondel_${name} PUBLIC rondel_flags fmt::fmt PRIVATE ${arg_BORROWS})
  if(NOT arg_PRECOMPILED_BY)
    rondel_precompile(rondel_${name} ${arg_PRECOMPILES})
  elseif(RONDEL_PRECOMPILE)
    target_compile_options(rondel_${name} PRIVATE -fpch-preprocess)
    target_precompile_headers(rondel_${name} REUSE_FROM rondel_${arg_PRECOMPILED_BY})
  endif()
  if(arg_UNITY AND RONDEL_UNITY)
    set_target_properties(rondel_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${arg_UNITY})
  endif()
  foreach(folder IN LISTS arg_LINKS)
    if(TARGET rondel_${folder})
      target_link_libraries(rondel_${name} PUBLIC rondel_${folder})
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY rondel_folders rondel_${name})
  set_property(GLOBAL APPEND PROPERTY rondel_borrowed ${arg_BORROWS})
endfunction()

# rondel_registered(target folder): adds to `target` the objects of those folders that `folder` depends
# on whose files register themselves when they are loaded; the linker would drop these objects from a
# static library.
function(rondel_registered target folder)
  if(folder MATCHES "^(ops|onnx|mdf|network|deepx|exporters|passes|gradients|lowering|compile|session)$" AND TARGET rondel_ops)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:rondel_ops>)
  endif()
  if(folder MATCHES "^(onnx|mdf|session)$" AND TARGET rondel_onnx)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:rondel_onnx>)
  endif()
  if(folder MATCHES "^(network|session)$" AND TARGET rondel_network)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:rondel_network>)
  endif()
  if(folder MATCHES "^(deepx|session)$" AND TARGET rondel_deepx)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:rondel_deepx>)
  endif()
endfunction()
