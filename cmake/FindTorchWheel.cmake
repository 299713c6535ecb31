# LibTorch from the installed `torch` wheel, taken directly: TorchConfig.cmake of a
# CUDA wheel stops without a CUDA toolkit, which we do not need.
#
# In:  REFORWARD_TORCH   folder of the torch package (…/site-packages/torch); found by
#                        asking Python3_EXECUTABLE, ./.venv/bin/python or python3 if unset
# Out: target torch_wheel::torch; REFORWARD_TORCH_VERSION, e.g. 2.13.0
if(TARGET torch_wheel::torch)
  return()
endif()

if(NOT REFORWARD_TORCH)
  set(_python "${Python3_EXECUTABLE}")
  if(NOT _python AND EXISTS "${CMAKE_SOURCE_DIR}/.venv/bin/python")
    set(_python "${CMAKE_SOURCE_DIR}/.venv/bin/python")
  endif()
  if(NOT _python)
    set(_python python3)
  endif()
  execute_process(
    COMMAND "${_python}" -c
            "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')"
    OUTPUT_VARIABLE _found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  set(REFORWARD_TORCH "${_found}" CACHE PATH "folder of the torch package" FORCE)
endif()
if(NOT EXISTS "${REFORWARD_TORCH}/lib/libtorch_cpu.so")
  message(FATAL_ERROR "No LibTorch at '${REFORWARD_TORCH}': expected the folder of an installed torch wheel; "
                      "pass -DREFORWARD_TORCH=.../site-packages/torch (in reforward's own folder `make setup` brings one).")
endif()

file(STRINGS "${REFORWARD_TORCH}/version.py" _version REGEX "^__version__")
string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" REFORWARD_TORCH_VERSION "${_version}")

add_library(torch_wheel::torch INTERFACE IMPORTED)
target_include_directories(torch_wheel::torch SYSTEM INTERFACE
  "${REFORWARD_TORCH}/include" "${REFORWARD_TORCH}/include/torch/csrc/api/include")
# The wheel is built with NDEBUG; RecordFunction's layout differs without it.
target_compile_definitions(torch_wheel::torch INTERFACE NDEBUG _GLIBCXX_USE_CXX11_ABI=1)
set(_torch_libs "${REFORWARD_TORCH}/lib/libtorch.so" "${REFORWARD_TORCH}/lib/libtorch_cpu.so"
                "${REFORWARD_TORCH}/lib/libc10.so")
foreach(_lib libtorch_cuda.so libc10_cuda.so)
  if(EXISTS "${REFORWARD_TORCH}/lib/${_lib}")
    list(APPEND _torch_libs "${REFORWARD_TORCH}/lib/${_lib}")
  endif()
endforeach()
target_link_libraries(torch_wheel::torch INTERFACE -Wl,--no-as-needed ${_torch_libs} -Wl,--as-needed)
target_link_options(torch_wheel::torch INTERFACE "-Wl,-rpath,${REFORWARD_TORCH}/lib")
