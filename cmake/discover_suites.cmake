# cmake -DPROGRAM=<a GoogleTest program> -DNAME=<of its entries> -DLABELS=<of each> -DOUTPUT=<file for CTest> -P …
# Writes one CTest entry a suite: its cases follow each other in one process, which names the one
# that it is at and those that fail.
execute_process(COMMAND ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE " *#[^\n]*" "" listed "${listed}")  # parameters, as they print themselves
string(REPLACE "\n" ";" listed "${listed}")
set(suites "")
foreach(line IN LISTS listed)
  if(line MATCHES "^([A-Za-z0-9_/]+)\\.$")
    set(suite ${CMAKE_MATCH_1})
    list(APPEND suites ${suite})
    set(cases_of_${suite} 0)
  elseif(line MATCHES "^  ")
    math(EXPR cases_of_${suite} "${cases_of_${suite}} + 1")
  endif()
endforeach()
if(NOT suites)
  message(FATAL_ERROR "${PROGRAM} lists no test")
endif()
set(entries "")
foreach(suite IN LISTS suites)
  # Those of many cases begin, or one of them ends alone. A filter that finds nothing would pass.
  string(APPEND entries "add_test([==[${NAME}.${suite}]==] [==[${PROGRAM}]==] --gtest_filter=${suite}.*)\n"
    "set_tests_properties([==[${NAME}.${suite}]==] PROPERTIES LABELS \"${LABELS}\" TIMEOUT 120 COST ${cases_of_${suite}}\n"
    "  FAIL_REGULAR_EXPRESSION \" 0 tests\")\n")
endforeach()
file(WRITE ${OUTPUT} "${entries}")
