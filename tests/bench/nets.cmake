# Networks on a backend: bench_nets --help.
add_executable(bench_nets nets.cpp)
target_link_libraries(bench_nets PRIVATE megascope_session megascope_options)
target_include_directories(bench_nets PRIVATE ${CMAKE_SOURCE_DIR}/tests)
