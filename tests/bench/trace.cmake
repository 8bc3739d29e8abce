# Reading a large trace against simdjson's own speed: bench_trace [GIGABYTES]. Profiling overhead: bench_profiling FILE.
find_package(PkgConfig REQUIRED)
pkg_check_modules(SIMDJSON REQUIRED IMPORTED_TARGET simdjson)
add_executable(bench_trace trace.cpp)
target_link_libraries(bench_trace PRIVATE megascope_profile PkgConfig::SIMDJSON megascope_options)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_options(bench_trace PRIVATE -msse4.2 -mpclmul) # as core/profile is compiled
endif()
add_executable(bench_profiling profiling.cpp)
target_link_libraries(bench_profiling PRIVATE megascope_session megascope_options)
# Frames of a timeline of ten million slices, without a screen: bench_timeline [SLICES].
if(TARGET megascope_views)
  add_executable(bench_timeline timeline.cpp)
  target_link_libraries(bench_timeline PRIVATE megascope_views megascope_options)
endif()
