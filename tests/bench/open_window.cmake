# Opening in the real window, until all is at rest: bench_open_window FILE[*N] [--size WxH] [--again] [--order] [--find]
# [--actions].
if(TARGET megascope_window)
  add_executable(bench_open_window open_window.cpp window_actions.cpp)
  target_link_libraries(bench_open_window PRIVATE megascope_window megascope_options)
  if(TARGET megascope-worker)
    add_dependencies(bench_open_window megascope-worker)
  endif()
endif()
