# drapps_layer(name [LINK libraries…]): the folder of that name as a library.
#
# The name of a file says what it is: x.cc belongs to the library drapps_<name>, x_test.cc to the test
# program <name>_test, x_bench.cc to the benchmark <name>_bench. A layer sees the layers declared before it.
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
  add_library(drapps_${name} STATIC ${sources})
  target_include_directories(drapps_${name} PUBLIC "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(drapps_${name} PUBLIC ${above} ${LAYER_LINK} PRIVATE drapps_compile_options)
  set_property(GLOBAL APPEND PROPERTY DRAPPS_LAYERS drapps_${name})

  if(DRAPPS_BUILD_TESTS AND tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE drapps_${name} drapps_compile_options GTest::gmock GTest::gtest_main)
    gtest_discover_tests(${name}_test DISCOVERY_MODE PRE_TEST)
  endif()
  if(DRAPPS_BUILD_TESTS AND benches)
    add_executable(${name}_bench ${benches})
    target_link_libraries(${name}_bench PRIVATE drapps_${name} drapps_compile_options benchmark::benchmark_main)
  endif()
endfunction()
