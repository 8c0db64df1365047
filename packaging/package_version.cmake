# Sets the version of a package when it is packed: that of the source tree then, or $TICKSTACK_PACKAGE_VERSION.
include(${CPACK_TICKSTACK_SOURCE_DIR}/cmake/version.cmake)
set(version $ENV{TICKSTACK_PACKAGE_VERSION})
if(NOT version)
  tickstack_version(version ${CPACK_TICKSTACK_SOURCE_DIR} ${CPACK_TICKSTACK_RELEASE})
endif()
# Debian sorts what follows a tilde before the release; a hyphen would begin a revision.
string(REPLACE "-" "~" CPACK_PACKAGE_VERSION ${version})
set(CPACK_DEBIAN_PACKAGE_VERSION ${CPACK_PACKAGE_VERSION})
