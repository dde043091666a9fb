# SPDX-License-Identifier: Apache-2.0
# What is installed; make_dist makes the packages of it. The languages are embedded in the program.
include(GNUInstallDirs)

install(TARGETS glovebox DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS glovebox-daemon glovebox-egress glovebox-warden glovebox-archiver glovebox-launcher glovebox-render
  glovebox-checker
  DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/glovebox)
# The library finds libexec/ beside its directory, so that is lib/ whatever the system would choose.
install(TARGETS glovebox-library LIBRARY DESTINATION lib FILE_SET HEADERS DESTINATION include)
install(TARGETS glovebox-wasm glovebox-wasm-zygote DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/glovebox/wasm)
install(PROGRAMS packaging/wasm_install DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/glovebox/wasm RENAME install)
install(TARGETS glovebox-microvm glovebox-microvm-memory-opener
  DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/glovebox/microvm)
install(FILES ${CMAKE_BINARY_DIR}/libexec/glovebox/microvm/initramfs
  DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/glovebox/microvm)
install(PROGRAMS packaging/microvm_install DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/glovebox/microvm RENAME install)
install(TARGETS glovebox-analyser DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/glovebox/analyser)
install(TARGETS glovebox-files DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/glovebox/files)
# As the build laid them out: the part before the last slash is not repeated.
install(DIRECTORY ${CMAKE_BINARY_DIR}/libexec/glovebox/agents
  DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/glovebox USE_SOURCE_PERMISSIONS
  PATTERN __pycache__ EXCLUDE)
# Where systemd looks, whatever the prefix's own lib is called.
install(FILES packaging/glovebox.service packaging/glovebox-keeper.service packaging/glovebox.socket
  DESTINATION lib/systemd/system)
install(FILES packaging/glovebox.sysusers DESTINATION lib/sysusers.d RENAME glovebox.conf)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
# Of what the analyser is built from that others wrote.
file(GLOB licenses ${PROJECT_SOURCE_DIR}/build/grammars/*/LICENSE)
foreach(license IN LISTS licenses)
  cmake_path(GET license PARENT_PATH package)
  cmake_path(GET package FILENAME package)
  install(FILES ${license} DESTINATION ${CMAKE_INSTALL_DOCDIR}/licenses RENAME ${package})
endforeach()
install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)

# What the packages are made of, without tests and benchmarks.
add_custom_target(shipped DEPENDS glovebox glovebox-daemon glovebox-library glovebox-warden glovebox-archiver glovebox-analyser glovebox-launcher
  glovebox-egress glovebox-files glovebox-render glovebox-checker glovebox-wasm glovebox-microvm glovebox-microvm-init glovebox-microvm-memory-opener agents)
