# Single operators of the cpu backend next to the plain loops and the memory's bandwidth: bench_kernels [NAME…]
add_executable(bench_kernels kernels.cpp)
target_link_libraries(bench_kernels PRIVATE megascope_session megascope_options)
target_include_directories(bench_kernels PRIVATE ${CMAKE_SOURCE_DIR}/tests)
