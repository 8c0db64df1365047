# Runs at each build: writes OUTPUT, a source file with the facts of the build, if they have changed.
include(${CMAKE_CURRENT_LIST_DIR}/version.cmake)
tickstack_version(VERSION ${SOURCE_DIR} ${RELEASE})
set(TEXT "#include \"base/build_facts.h\"\n\nnamespace tickstack {\n
extern const BuildFacts kBuildFacts;
const BuildFacts kBuildFacts = {\"${VERSION}\", \"${VERSION_COMMIT}\", \"${FLAGS}\"};\n
}  // namespace tickstack\n")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} BEFORE)
endif()
if(NOT BEFORE STREQUAL TEXT)
  file(WRITE ${OUTPUT} "${TEXT}")
endif()
