# find_package(hopbytes): the target hopbytes::hopbytes, found beside this file.
get_filename_component(hopbytes_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET hopbytes::hopbytes)
  add_library(hopbytes::hopbytes SHARED IMPORTED)
  set_target_properties(hopbytes::hopbytes PROPERTIES
    IMPORTED_LOCATION "${hopbytes_PREFIX}/lib/libhopbytes.so"
    INTERFACE_INCLUDE_DIRECTORIES "${hopbytes_PREFIX}/include")
endif()
