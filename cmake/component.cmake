# SPDX-License-Identifier: Apache-2.0
# One library per directory, with its tests and the layers that it may use.
include(GoogleTest)

# Warnings live on one target that every component links privately.
add_library(gb_build_flags INTERFACE)
target_compile_options(gb_build_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor> -Wimplicit-fallthrough
  -Wformat=2 $<$<BOOL:${GB_WERROR}>:-Werror>)
if(CMAKE_UNITY_BUILD)
  # Both see what one file names the same as another; the other presets check each file by itself.
  target_compile_options(gb_build_flags INTERFACE -Wno-shadow -Wno-maybe-uninitialized)
endif()

# For programs in C, which use nothing of ours but libglovebox.
add_library(gb_c_build_flags INTERFACE)
target_compile_options(gb_c_build_flags INTERFACE -Wall -Wextra -Wshadow $<$<BOOL:${GB_WERROR}>:-Werror>)

# gb_unity_groups(<sources> <separate>)
#
# Says which of the sources are compiled as one, for targets whose UNITY_BUILD_MODE is GROUP: each
# list in `separate`, and of what is not there as many together as the preset says.
function(gb_unity_groups sources separate)
  if(NOT CMAKE_UNITY_BUILD)
    return()
  endif()
  foreach(files IN LISTS separate)
    separate_arguments(files UNIX_COMMAND "${files}")
    list(REMOVE_ITEM sources ${files})
    list(LENGTH files count)
    if(count EQUAL 1)
      set_source_files_properties(${files} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    else()
      list(GET files 0 first)
      cmake_path(GET first STEM first)
      set_source_files_properties(${files} PROPERTIES UNITY_GROUP ${first})
    endif()
  endforeach()
  set(index 0)
  foreach(file IN LISTS sources)
    math(EXPR batch "${index} / ${CMAKE_UNITY_BUILD_BATCH_SIZE}")
    math(EXPR index "${index} + 1")
    set_source_files_properties(${file} PROPERTIES UNITY_GROUP ${batch})
  endforeach()
endfunction()

# gb_component(<name>
#   HEADERS <h>...  SOURCES <cc>...  TESTS <cc>...
#   PUBLIC <targets the headers need>  PRIVATE <targets only the sources need>
#   SEPARATE <cc or "cc cc...">...)
#
# Makes library gb_<name> (alias glovebox::<name>) and the test program gb_<name>_test. The release
# preset compiles several files as one, four times as fast; a file whose own names are also another's
# is SEPARATE, alone or as one with the others of its list.
function(gb_component name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS;SOURCES;TESTS;PUBLIC;PRIVATE;SEPARATE")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "gb_component(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  gb_unity_groups("${arg_SOURCES}" "${arg_SEPARATE}")
  set(kind STATIC)
  set(scope PUBLIC)
  if(NOT arg_SOURCES)
    set(kind INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(gb_${name} ${kind} ${arg_SOURCES})
  add_library(glovebox::${name} ALIAS gb_${name})
  set_target_properties(gb_${name} PROPERTIES UNITY_BUILD_MODE GROUP)
  target_sources(gb_${name} ${scope} FILE_SET HEADERS
    BASE_DIRS ${PROJECT_SOURCE_DIR}/src FILES ${arg_HEADERS})
  target_include_directories(gb_${name} ${scope} ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(gb_${name} ${scope} ${arg_PUBLIC})
  if(arg_SOURCES)
    target_link_libraries(gb_${name} PRIVATE gb_build_flags ${arg_PRIVATE})
  endif()
  if(arg_TESTS AND BUILD_TESTING)
    gb_test(${name}_test SOURCES ${arg_TESTS} LIBRARIES glovebox::${name} LABELS unit)
  endif()
endfunction()

# gb_test(<name> SOURCES <cc>... LIBRARIES <targets>... LABELS <labels>... [SHARDS <n>])
#
# Each test case is a test of CTest and a process of its own. With SHARDS, for cases that share
# something that takes long to make, each is one of n processes with every n-th case: <name>.<i>,
# skipped when one of its cases is.
function(gb_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SHARDS" "SOURCES;LIBRARIES;LABELS")
  add_executable(gb_${name} ${arg_SOURCES})
  target_link_libraries(gb_${name} PRIVATE
    ${arg_LIBRARIES} gb_build_flags GTest::gmock GTest::gtest_main)
  # What is tested is optimized as it is shipped; optimizing the tests would only take time.
  target_compile_options(gb_${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1 -g0>)
  if(NOT arg_SHARDS)
    gtest_discover_tests(gb_${name} NO_PRETTY_VALUES PROPERTIES LABELS "${arg_LABELS}" DISCOVERY_TIMEOUT 60)
    return()
  endif()
  foreach(shard RANGE 1 ${arg_SHARDS})
    math(EXPR index "${shard} - 1")
    add_test(NAME ${name}.${shard} COMMAND gb_${name})
    set_tests_properties(${name}.${shard} PROPERTIES
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${arg_SHARDS};GTEST_SHARD_INDEX=${index}"
      SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\]" LABELS "${arg_LABELS}" TIMEOUT 600)
  endforeach()
endfunction()
