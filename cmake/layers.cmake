# drapps_layer(name [LINK libraries…]): the folder of that name as a library.
#
# The name of a file says what it is: x.cc belongs to the library drapps_<name>, x_test.cc to the test
# program <name>_test, x_bench.cc to the benchmark <name>_bench. A layer sees the layers declared before it.
# A layer may be headers only. Files of one kind may be compiled together (DRAPPS_UNITY_BUILD), so what has internal
# linkage in them needs names of its own within the layer. `ctest -L <name>` runs the tests of one layer.
set(DRAPPS_TEST_FILES "" CACHE STRING "regular expressions for the tests that are built, as layer/name; empty for all")

set_property(GLOBAL PROPERTY DRAPPS_LAYERS "")

# Compiles so many of a target's files together at once, 0 for all. What is shipped is compiled as it is tested; the dev
# preset has each file by itself, where one that lacks an include does not compile.
function(drapps_compile_together target files)
  if(DRAPPS_UNITY_BUILD)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${files})
  endif()
endfunction()

function(drapps_layer name)
  cmake_parse_arguments(LAYER "" "" "LINK" ${ARGN})
  set(folder "${CMAKE_CURRENT_SOURCE_DIR}/${name}")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${folder}/*.cc")
  set(tests ${sources})
  set(benches ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER tests EXCLUDE REGEX "_stand_in_test\\.cc$")  # a library of its own, which tests load
  if(DRAPPS_TEST_FILES)
    list(JOIN DRAPPS_TEST_FILES "|" chosen)
    list(FILTER tests INCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/(${chosen})")
  endif()
  list(FILTER benches INCLUDE REGEX "_bench\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_(test|bench)\\.cc$")
  drapps_simd_flags(${sources})

  get_property(above GLOBAL PROPERTY DRAPPS_LAYERS)
  if(sources)
    add_library(drapps_${name} STATIC ${sources})
    drapps_compile_together(drapps_${name} ${DRAPPS_UNITY_FILES})
    target_include_directories(drapps_${name} PUBLIC "${PROJECT_SOURCE_DIR}/src")
    target_link_libraries(drapps_${name} PUBLIC ${above} ${LAYER_LINK} PRIVATE drapps_compile_options)
    # Under sanitizers -O0 halves what compiling takes; layers that compute at length would lose more in their tests.
    if(DRAPPS_SANITIZE AND NOT name MATCHES "^(base|shm|kernel|source|decode|augment|text|batch|device|cache|sim|rl|policy|trace|control)$")
      target_compile_options(drapps_${name} PRIVATE -O0)
    endif()
    # Threads may outlive what exit() destroys.
    target_compile_options(drapps_${name} PRIVATE $<$<CXX_COMPILER_ID:Clang>:-Wexit-time-destructors>)
  else()
    add_library(drapps_${name} INTERFACE)
    target_include_directories(drapps_${name} INTERFACE "${PROJECT_SOURCE_DIR}/src")
    target_link_libraries(drapps_${name} INTERFACE ${above} ${LAYER_LINK})
  endif()
  set_property(GLOBAL APPEND PROPERTY DRAPPS_LAYERS drapps_${name})

  if(DRAPPS_BUILD_TESTS AND tests)
    add_executable(${name}_test ${tests})
    drapps_compile_together(${name}_test 0)
    # Most of a test's time is the compiler's; but what compares pixels runs long where sanitizers watch it at -O0.
    set(fast -O1)
    if(DRAPPS_SANITIZE AND NOT name MATCHES "^(kernel|storage|source|decode|augment)$")
      set(fast -O0)
    endif()
    target_compile_options(${name}_test PRIVATE ${fast})
    target_link_libraries(${name}_test PRIVATE drapps_${name} drapps_compile_options GTest::gmock GTest::gtest_main)
    gtest_discover_tests(${name}_test DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 300
      PROPERTIES LABELS ${name} TIMEOUT 600)
  endif()
  if(DRAPPS_BUILD_BENCHMARKS AND benches)
    add_executable(${name}_bench EXCLUDE_FROM_ALL ${benches})
    add_dependencies(benchmarks ${name}_bench)
    target_link_libraries(${name}_bench PRIVATE drapps_${name} drapps_compile_options benchmark::benchmark_main)
  endif()
endfunction()
