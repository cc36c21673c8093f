# find_package(fib): the targets fib::fib, shared, and fib::static. C++ has fib.hpp
# beside fib.h. @...@ is filled in by install.sh; the folder may be moved.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
get_filename_component(_fib_lib "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
get_filename_component(_fib_include "${CMAKE_CURRENT_LIST_DIR}/@INCLUDE@" ABSOLUTE)
if(NOT TARGET fib::fib)
  add_library(fib::fib SHARED IMPORTED)
  set_target_properties(fib::fib PROPERTIES
    IMPORTED_LOCATION "${_fib_lib}/libfib.so.0"
    IMPORTED_SONAME libfib.so.0
    INTERFACE_INCLUDE_DIRECTORIES "${_fib_include}")
  add_library(fib::static STATIC IMPORTED)
  set_target_properties(fib::static PROPERTIES
    IMPORTED_LOCATION "${_fib_lib}/libfib.a"
    INTERFACE_LINK_LIBRARIES Threads::Threads
    INTERFACE_INCLUDE_DIRECTORIES "${_fib_include}")
endif()
unset(_fib_lib)
unset(_fib_include)
