# cmake -DSOURCE=<file> -DFLAGS=<response file> -DCOMPILER=<compiler> [-DONLY_WRONG=ON] -P check.cmake
# ONLY_WRONG: that the right way compiles is seen elsewhere.
file(STRINGS ${SOURCE} first LIMIT_COUNT 1)
if(NOT first MATCHES "^// expect: (.+)$")
  message(FATAL_ERROR "${SOURCE}: the first line must be: // expect: <what the compiler says>")
endif()
set(expected "${CMAKE_MATCH_1}")

if(NOT ONLY_WRONG)
  execute_process(COMMAND ${COMPILER} @${FLAGS} -DFIXED ${SOURCE} RESULT_VARIABLE result ERROR_VARIABLE said)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "the right way does not compile:\n${said}")
  endif()
endif()

execute_process(COMMAND ${COMPILER} @${FLAGS} ${SOURCE} RESULT_VARIABLE result ERROR_VARIABLE said)
if(result EQUAL 0)
  message(FATAL_ERROR "the wrong way compiles")
endif()
# The compiler quotes the source: the words must come from what it says itself.
string(REGEX REPLACE "\n *[0-9]* \\|[^\n]*" "" said "${said}")
string(FIND "${said}" "${expected}" position)
if(position EQUAL -1)
  message(FATAL_ERROR "the compiler refuses the wrong way, but does not say: ${expected}\n${said}")
endif()
