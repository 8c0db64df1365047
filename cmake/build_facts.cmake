# Runs at each build: writes OUTPUT, a source file with the facts of the build, if they have changed.
execute_process(COMMAND git -C ${SOURCE_DIR} rev-parse --short=12 HEAD
                OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
execute_process(COMMAND git -C ${SOURCE_DIR} status --porcelain --untracked-files=no
                OUTPUT_VARIABLE CHANGES OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(COMMIT AND CHANGES)
  string(APPEND COMMIT "-changed")
endif()
set(TEXT "#include \"loadtest/build_facts.h\"\n\nnamespace tickstack::loadtest {\n
extern const BuildFacts kBuildFacts;
const BuildFacts kBuildFacts = {\"${VERSION}\", \"${COMMIT}\", \"${FLAGS}\"};\n
}  // namespace tickstack::loadtest\n")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} BEFORE)
endif()
if(NOT BEFORE STREQUAL TEXT)
  file(WRITE ${OUTPUT} "${TEXT}")
endif()
