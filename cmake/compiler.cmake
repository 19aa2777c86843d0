# How everything is compiled. Floats must be the same on every SIMD level, so contraction into FMA is off.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")  # assertions stay
set(CMAKE_CXX_FLAGS_SANITIZE "-O1 -g1")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

set(DRAPPS_SANITIZE "" CACHE STRING "sanitizers for every target: empty, address,undefined or thread")

add_library(drapps_compile_options INTERFACE)
target_compile_options(drapps_compile_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wno-missing-field-initializers -Werror
  -ffp-contract=off
  # GCC 12 at -O3 sees overflows in std::vector and std::string that are not there; the sanitizers see those that are.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds> $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow> $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overread>
  # It takes sources that are compiled together for headers, in which unnamed namespaces would be a mistake.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
if(DRAPPS_SANITIZE)
  # The vptr check opens a pipe, and calls it an error where a test has left no descriptor for one.
  add_compile_options(-fsanitize=${DRAPPS_SANITIZE} -fno-sanitize=vptr -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${DRAPPS_SANITIZE})
endif()

# A file named for a SIMD level is the only code compiled for it; who calls it asks the CPU first.
function(drapps_simd_flags)
  foreach(source ${ARGN})
    if(source MATCHES "_avx512vbmi\\.cc$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS
        "-mavx512f;-mavx512bw;-mavx512vl;-mavx512dq;-mavx512vbmi;-mavx512vbmi2;-mavx512vnni;-mbmi;-mbmi2;-mfma")
      # The loop of the inverse transform is one long block, in the order in which people read it. GCC reorders it well
      # before it hands out registers, which it does not do by itself on x86: 87 -> 78 us for 500 x 375 at 4:4:4.
      if(source MATCHES "jpeg/pixels_avx512vbmi" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -fschedule-insns -fsched-pressure)
      endif()
    elseif(source MATCHES "_avx512\\.cc$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS
        "-mavx512f;-mavx512bw;-mavx512vl;-mavx512dq;-mbmi;-mbmi2;-mfma")
    elseif(source MATCHES "_avx2\\.cc$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-mavx2;-mbmi;-mbmi2;-mfma;-mf16c")
    endif()
  endforeach()
endfunction()

# Paths are hashed relative to the checkout, so that a fresh clone profits from what another one compiled.
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
endif()
