# tickstack_version(OUT SOURCE_DIR RELEASE): the version of a source tree, by its git tags:
#
#   the tag v1.2.3                           1.2.3
#   12 commits after that tag                1.2.3+12.g0123456789ab
#   no tag, 610 commits                      RELEASE-dev.610+g0123456789ab
#   no repository, such as an archive        RELEASE
#
# With `.changed` at the end if tracked files differ from the commit. Also sets OUT_COMMIT: the commit, which ends in
# `-changed` then, or "".

function(tickstack_version out source_dir release)
  macro(git output)
    set(${output})
    execute_process(COMMAND git -C ${source_dir} ${ARGN} OUTPUT_VARIABLE ${output} RESULT_VARIABLE git_failed
                    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endmacro()

  set(version ${release})
  set(commit)
  # An archive may be unpacked within a repository of something else.
  git(folder rev-parse --show-prefix)
  if(NOT git_failed AND folder STREQUAL "")
    git(commit rev-parse --short=12 HEAD)
  endif()
  if(commit)
    git(described describe --tags --long --abbrev=12 --match v[0-9]*)
    if(described MATCHES "^v(.+)-([0-9]+)-(g[0-9a-f]+)$")
      set(version ${CMAKE_MATCH_1})
      if(NOT CMAKE_MATCH_2 EQUAL 0)
        set(version ${CMAKE_MATCH_1}+${CMAKE_MATCH_2}.${CMAKE_MATCH_3})
      endif()
    else()
      git(count rev-list --count HEAD)
      set(version ${release}-dev.${count}+g${commit})
    endif()
    git(changes status --porcelain --untracked-files=no)
    if(changes)
      string(APPEND commit -changed)
      string(FIND ${version} + plus)
      if(plus EQUAL -1)
        string(APPEND version +changed)
      else()
        string(APPEND version .changed)
      endif()
    endif()
  endif()
  set(${out} ${version} PARENT_SCOPE)
  set(${out}_COMMIT "${commit}" PARENT_SCOPE)
endfunction()

# `cmake -D SOURCE_DIR=. -D RELEASE=0.1.0 -P version.cmake` prints the version.
if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  tickstack_version(VERSION ${SOURCE_DIR} ${RELEASE})
  execute_process(COMMAND ${CMAKE_COMMAND} -E echo ${VERSION})
endif()
