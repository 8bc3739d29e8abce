# Compiler settings and the two functions that declare the project's targets.

add_library(megascope_options INTERFACE)
target_compile_options(megascope_options INTERFACE -Wall -Wextra -Wpedantic -Wno-missing-field-initializers
  # GCC 12 sees ghosts: in std::optional, and in std::string's and std::vector's own copies once they are inlined.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict;-Wno-array-bounds;-Wno-stringop-overflow>)
if(MEGASCOPE_SANITIZE)
  target_compile_options(megascope_options INTERFACE -fsanitize=${MEGASCOPE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  target_link_options(megascope_options INTERFACE -fsanitize=${MEGASCOPE_SANITIZE})
endif()

find_program(MEGASCOPE_MOLD mold)
if(MEGASCOPE_MOLD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_link_options(-fuse-ld=mold)
endif()
find_program(MEGASCOPE_CCACHE ccache)
if(MEGASCOPE_CCACHE)
  # Without these ccache leaves alone whatever uses a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${MEGASCOPE_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${MEGASCOPE_CCACHE})
endif()

# What runs once and briefly, as tests and commands do, is built in half the time with fewer optimizations.
add_library(megascope_built_quickly INTERFACE)
target_compile_options(megascope_built_quickly INTERFACE $<$<CONFIG:Release>:-O1>)

# Headers of others that nearly every source includes are read once per target. Ours are not among them: a change of one would
# compile everything again.
set(MEGASCOPE_COMMON_HEADERS <algorithm> <cmath> <cstdint> <functional> <map> <memory> <optional> <span> <string> <string_view>
    <unordered_map> <variant> <vector> <tl/expected.hpp>)

# megascope_core_library(<folder> [folders it may include...])
# Every .cpp below core/<folder> becomes the static library megascope_<folder>.
function(megascope_core_library folder)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/core/${folder}/*.cpp ${CMAKE_SOURCE_DIR}/core/${folder}/*.h)
  set(cpp ${sources})
  list(FILTER cpp INCLUDE REGEX "\\.cpp$")
  if(cpp)
    add_library(megascope_${folder} STATIC ${sources})
    target_include_directories(megascope_${folder} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/core> $<INSTALL_INTERFACE:include/megascope>)
    target_link_libraries(megascope_${folder} PRIVATE $<BUILD_INTERFACE:megascope_options>)
    target_precompile_headers(megascope_${folder} PRIVATE ${MEGASCOPE_COMMON_HEADERS})
    set(scope PUBLIC)
  else()
    add_library(megascope_${folder} INTERFACE)
    target_include_directories(megascope_${folder} INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/core> $<INSTALL_INTERFACE:include/megascope>)
    set(scope INTERFACE)
  endif()
  foreach(dependency IN LISTS ARGN)
    target_link_libraries(megascope_${folder} ${scope} megascope_${dependency})
  endforeach()
endfunction()

# Test programs of one kind share what they read: `core` those without widgets, `window` the others.
function(megascope_test_headers kind)
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/test_headers_${kind}.cpp CONTENT "")
  add_library(megascope_test_headers_${kind} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/test_headers_${kind}.cpp)
  target_link_libraries(megascope_test_headers_${kind} PRIVATE ${ARGN} megascope_options megascope_built_quickly Qt6::Test)
  target_precompile_headers(megascope_test_headers_${kind} PRIVATE ${MEGASCOPE_COMMON_HEADERS} <QtTest>)
endfunction()

# megascope_tests(<directory> <core|window> <libraries...>)
# Every test_*.cpp in the directory becomes a Qt Test program and a ctest entry named after folder and file.
function(megascope_tests directory kind)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${directory}/test_*.cpp)
  string(REPLACE "/" "_" prefix ${directory})
  foreach(source IN LISTS sources)
    get_filename_component(stem ${source} NAME_WE)
    string(REGEX REPLACE "^test_" "" stem ${stem})
    set(target test_${prefix}_${stem})
    add_executable(${target} ${source})
    set_target_properties(${target} PROPERTIES AUTOMOC ON)
    # moc's output is part of the test's source; what is left for the file of its own is empty.
    set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/${target}_autogen/mocs_compilation.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    target_link_libraries(${target} PRIVATE ${ARGN} megascope_options megascope_built_quickly Qt6::Test)
    target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
    target_precompile_headers(${target} REUSE_FROM megascope_test_headers_${kind})
    target_compile_definitions(${target} PRIVATE
      MEGASCOPE_TEST_DATA="${CMAKE_SOURCE_DIR}/tests/data"
      MEGASCOPE_REFERENCE_DATA="${MEGASCOPE_REFERENCE_DATA}"
      MEGASCOPE_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
    add_test(NAME ${prefix}.${stem} COMMAND ${target})
    set_tests_properties(${prefix}.${stem} PROPERTIES TIMEOUT 300 ENVIRONMENT "QT_QPA_PLATFORM=offscreen")
  endforeach()
endfunction()
