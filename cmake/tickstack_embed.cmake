# tickstack_embed(OUTPUT HEADER NAMESPACE FILES...)
#
# Writes OUTPUT (a .cc) with the text of each file as a `const std::string_view`, which HEADER declares: kPageCss for
# page.css, kUPlotMinCss for uPlot.min.css. Runs again when a file changes.

set(TICKSTACK_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})

if(CMAKE_SCRIPT_MODE_FILE)
  set(text "// Made by cmake/tickstack_embed.cmake.\n#include \"${HEADER}\"\n\nnamespace ${NAMESPACE} {\n")
  foreach(file IN LISTS FILES)
    get_filename_component(stem ${file} NAME)
    set(name "k")
    string(REGEX MATCHALL "[A-Za-z0-9]+" words ${stem})
    foreach(word IN LISTS words)
      string(SUBSTRING ${word} 0 1 first)
      string(SUBSTRING ${word} 1 -1 rest)
      string(TOUPPER ${first} first)
      string(APPEND name ${first}${rest})
    endforeach()
    file(READ ${file} content)
    if(content MATCHES "\\)EMBEDDED\"")
      message(FATAL_ERROR "${file} has what ends a string here: )EMBEDDED\"")
    endif()
    string(APPEND text "const std::string_view ${name} = R\"EMBEDDED(${content})EMBEDDED\";\n")
  endforeach()
  file(WRITE ${OUTPUT} "${text}}  // namespace ${NAMESPACE}\n")
  return()
endif()

function(tickstack_embed output header namespace)
  set(paths)
  foreach(file IN LISTS ARGN)
    get_filename_component(path ${file} ABSOLUTE)
    list(APPEND paths ${path})
  endforeach()
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DHEADER=${header} -DNAMESPACE=${namespace} "-DFILES=${paths}"
            -P ${TICKSTACK_EMBED_SCRIPT}
    DEPENDS ${paths} ${TICKSTACK_EMBED_SCRIPT}
    VERBATIM)
endfunction()
