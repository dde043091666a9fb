// SPDX-License-Identifier: Apache-2.0
// _glovebox: the Python module that forks. Stable ABI, so that one file serves every CPython from
// 3.9 on.
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>

#include <cerrno>
#include <string>
#include <vector>

#include "checkpoint.h"
#include "entry.h"
#include "huge_pages.h"
#include "serving.h"

namespace glovebox::zygote {
namespace {

PyObject* to_list(const std::vector<std::string>& texts) {
  PyObject* const list = PyList_New(static_cast<Py_ssize_t>(texts.size()));
  if (list == nullptr) {
    return nullptr;
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    PyObject* const text =
        PyUnicode_DecodeFSDefaultAndSize(texts[i].data(), static_cast<Py_ssize_t>(texts[i].size()));
    if (text == nullptr || PyList_SetItem(list, static_cast<Py_ssize_t>(i), text) != 0) {
      Py_DECREF(list);
      return nullptr;
    }
  }
  return list;
}

// serve_forks(fd, version) -> list of "NAME=value", or None
PyObject* serve(PyObject*, PyObject* arguments) {
  int fd = -1;
  const char* version = nullptr;
  if (PyArg_ParseTuple(arguments, "is", &fd, &version) == 0) {
    return nullptr;
  }
  collapse_memory();
  const auto entered = [] {
    // There is one thread, so this is early enough; and the zygote writes to none of Python's
    // memory, whose huge pages would be split for it and copied page by page from then on.
    PyOS_BeforeFork();
    PyOS_AfterFork_Child();
  };
  const auto request =
      serve_forks(fd, {.version = version, .files = library_files(), .entered = entered});
  if (!request) {
    Py_RETURN_NONE;
  }
  return to_list(request->env);
}

// checkpoint(channel, reply) -> "original", "rollback" or "fork"
PyObject* checkpoint(PyObject*, PyObject* arguments) {
  int channel = -1;
  const char* reply = nullptr;
  Py_ssize_t size = 0;
  if (PyArg_ParseTuple(arguments, "iy#", &channel, &reply, &size) == 0) {
    return nullptr;
  }
  PyOS_BeforeFork();
  const Awakening awakening = make_checkpoint(channel, {reply, static_cast<std::size_t>(size)});
  switch (awakening) {
    case Awakening::kFailed: {
      const int error = errno;
      PyOS_AfterFork_Parent();
      errno = error;
      return PyErr_SetFromErrno(PyExc_OSError);
    }
    case Awakening::kOriginal:
      PyOS_AfterFork_Parent();
      return PyUnicode_FromString("original");
    case Awakening::kRolledBack:
      PyOS_AfterFork_Child();
      return PyUnicode_FromString("rollback");
    case Awakening::kForked:
      PyOS_AfterFork_Child();
      return PyUnicode_FromString("fork");
  }
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"serve_forks", serve, METH_VARARGS,
     "serve_forks(fd, version): fork for each request on the socket, each fork in the sandbox that "
     "came with it. Returns the environment in a fork, None in the zygote when the socket closes."},
    {"checkpoint", checkpoint, METH_VARARGS,
     "checkpoint(channel, reply): leave a sleeping copy of this process behind and send the reply "
     "frame with its descriptors. Returns again in each process that the copy makes."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_glovebox", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr,
};

}  // namespace
}  // namespace glovebox::zygote

// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): Python's name.
PyMODINIT_FUNC PyInit__glovebox() { return PyModule_Create(&glovebox::zygote::module); }
