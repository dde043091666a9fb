# SPDX-License-Identifier: Apache-2.0
# What is installed, and the Debian package of it. The languages are embedded in the program.
include(GNUInstallDirs)

install(TARGETS glovebox DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS glovebox-daemon glovebox-warden glovebox-archiver glovebox-render
  DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/glovebox)
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
install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME glovebox)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "Glovebox developers <glovebox@localhost>")
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
# Makes the daemon's user; starts nothing.
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_SOURCE_DIR}/packaging/postinst)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS
  "python3, python3-ipython, python3-pandas, python3-matplotlib, libzmq5")
if(GB_STATIC)
  # Static programs need no libraries of the machine.
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS OFF)
else()
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
include(CPack)
