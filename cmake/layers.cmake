# drapps_layer(name [LINK libraries…]): the folder of that name as a library.
#
# The name of a file says what it is: x.cc belongs to the library drapps_<name>, x_test.cc to the test
# program <name>_test, x_bench.cc to the benchmark <name>_bench. A layer sees the layers declared before it.
# A layer may be headers only. `ctest -L <name>` runs the tests of one layer.
set(DRAPPS_TEST_LAYERS "" CACHE STRING "layers whose tests are built; empty for all")

set_property(GLOBAL PROPERTY DRAPPS_LAYERS "")

function(drapps_layer name)
  cmake_parse_arguments(LAYER "" "" "LINK" ${ARGN})
  set(folder "${CMAKE_CURRENT_SOURCE_DIR}/${name}")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${folder}/*.cc")
  set(tests ${sources})
  set(benches ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER benches INCLUDE REGEX "_bench\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_(test|bench)\\.cc$")
  drapps_simd_flags(${sources})

  get_property(above GLOBAL PROPERTY DRAPPS_LAYERS)
  if(sources)
    add_library(drapps_${name} STATIC ${sources})
    target_include_directories(drapps_${name} PUBLIC "${PROJECT_SOURCE_DIR}/src")
    target_link_libraries(drapps_${name} PUBLIC ${above} ${LAYER_LINK} PRIVATE drapps_compile_options)
  else()
    add_library(drapps_${name} INTERFACE)
    target_include_directories(drapps_${name} INTERFACE "${PROJECT_SOURCE_DIR}/src")
    target_link_libraries(drapps_${name} INTERFACE ${above} ${LAYER_LINK})
  endif()
  set_property(GLOBAL APPEND PROPERTY DRAPPS_LAYERS drapps_${name})

  if(DRAPPS_BUILD_TESTS AND tests AND (NOT DRAPPS_TEST_LAYERS OR name IN_LIST DRAPPS_TEST_LAYERS))
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE drapps_${name} drapps_compile_options GTest::gmock GTest::gtest_main)
    gtest_discover_tests(${name}_test DISCOVERY_MODE PRE_TEST PROPERTIES LABELS ${name} TIMEOUT 60)
  endif()
  if(DRAPPS_BUILD_BENCHMARKS AND benches)
    add_executable(${name}_bench ${benches})
    target_link_libraries(${name}_bench PRIVATE drapps_${name} drapps_compile_options benchmark::benchmark_main)
  endif()
endfunction()
