# The language and the flags of all our files: the interface library rondel_flags.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
if(PROJECT_IS_TOP_LEVEL)  # else the build type and its flags are those of the project around this one
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
  set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g -D_GLIBCXX_ASSERTIONS")
  if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
  endif()
endif()
find_program(RONDEL_CCACHE ccache)
if(RONDEL_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # ccache needs these settings for precompiled headers. Checkouts share nothing, because a precompiled
  # header contains the paths of its checkout.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${RONDEL_CCACHE})
endif()

# The flags of all our files. Arithmetic as it is written, whatever flags a project around this one has:
# they come before these. No contraction: the source says where a multiply and an add become one fma;
# the compiler never decides it.
set(rondel_arithmetic -fno-fast-math -fno-unsafe-math-optimizations -fno-finite-math-only
  -fsigned-zeros -fno-associative-math -fno-reciprocal-math -ffp-contract=off)
add_library(rondel_flags INTERFACE)
target_compile_options(rondel_flags INTERFACE -Wall -Wextra -Wconversion ${rondel_arithmetic})
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # fewer garbage collections: compiling takes 5 % less time
  target_compile_options(rondel_flags INTERFACE "SHELL:--param ggc-min-heapsize=1048576")
endif()
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH rondel_root)
target_include_directories(rondel_flags INTERFACE ${rondel_root}/include ${rondel_root}/src)
