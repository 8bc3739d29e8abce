# What a run allocates beside what its plan says: bench_memory FILE…
add_executable(bench_memory memory.cpp counted_memory.cpp counted_memory.h)
target_link_libraries(bench_memory PRIVATE megascope_session megascope_options)
target_include_directories(bench_memory PRIVATE ${CMAKE_SOURCE_DIR}/tests)
