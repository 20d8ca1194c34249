# Runs the model checker: cmake -DMODEL=<file> -DOUTCOME=<holds|fails> [-DDEFINES=-DX;…] -DSPIN=… -DCC=… -DFOLDER=… -P check.cmake

file(MAKE_DIRECTORY ${FOLDER})
execute_process(COMMAND ${SPIN} -a ${DEFINES} ${MODEL} WORKING_DIRECTORY ${FOLDER} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CC} -O2 -w -DSAFETY -DCOLLAPSE -DVECTORSZ=2048 -o pan pan.c WORKING_DIRECTORY ${FOLDER} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ./pan -m200000 -w24 WORKING_DIRECTORY ${FOLDER} OUTPUT_VARIABLE said ERROR_VARIABLE said)

if(NOT said MATCHES "errors: ([0-9]+)")
  message(FATAL_ERROR "the model checker did not finish:\n${said}")
endif()
set(errors ${CMAKE_MATCH_1})
if(said MATCHES "max search depth too small|out of memory")
  message(FATAL_ERROR "the model checker did not see everything:\n${said}")
endif()
if(OUTCOME STREQUAL holds AND NOT errors EQUAL 0)
  message(FATAL_ERROR "the protocol fails:\n${said}")
elseif(OUTCOME STREQUAL fails AND errors EQUAL 0)
  message(FATAL_ERROR "the planted fault was not found:\n${said}")
endif()
