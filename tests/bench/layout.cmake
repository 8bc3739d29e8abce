add_executable(bench_layout layout.cpp)
target_link_libraries(bench_layout PRIVATE megascope_layout megascope_options)
target_include_directories(bench_layout PRIVATE ${CMAKE_SOURCE_DIR}/tests)
