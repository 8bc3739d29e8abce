# Opening a dump of two gigabytes: bench_open [FOLDER].
add_executable(bench_open open.cpp)
target_link_libraries(bench_open PRIVATE megascope_format megascope_options)
