# SPDX-License-Identifier: Apache-2.0
# Plots: drawn once on a device that shows nothing, then played back as PNG and as SVG.
#
# The device stays open between executions, as a window would: lines() in a later cell adds to the
# plot of an earlier one, and par() lasts.

plots <- new.env(parent = emptyenv())
plots$device <- 0L
plots$last <- NULL
plots$busy <- FALSE

option_number <- function(name, default) {
    value <- getOption(name)
    if (is.numeric(value) && length(value) == 1L && is.finite(value) && value > 0) value else default
}

open_device <- function(width = option_number("repr.plot.width", 7),
                        height = option_number("repr.plot.height", 5), ...) {
    # Unlike pdf(NULL), Cairo measures every letter that a font has.
    grDevices::svg("/dev/null", width = min(width, 50), height = min(height, 50))
    grDevices::dev.control("enable")
    plots$device <- grDevices::dev.cur()
    plots$last <- NULL
}

device_is_ours <- function() {
    devices <- grDevices::dev.list()
    at <- match(plots$device, devices)
    !is.na(at) && names(devices)[at] == "svg"
}

# What really drew. Setting up a page draws nothing, and par() ahead of the next page is recorded on
# the old one, which did not change by it.
drawn <- function(display_list) {
    quiet <- c("C_par", "C_layout", "C_clip", "C_plot_new", "C_plot_window", "C_strWidth",
               "C_strHeight", "C_palette", "C_palette2", "L_initGPar", "L_initDisplayList",
               "L_newpage", "L_newpagerecording", "L_initViewportStack")
    Filter(function(entry) {
        primitive <- entry[[2L]][[1L]]
        name <- if (is.list(primitive)) primitive$name else ""
        !(is.character(name) && name %in% quiet)
    }, as.list(display_list))
}

# Sends the page as it stands unless that was done before. At a new page the old one is complete.
flush_plot <- function(page_turns) {
    if (plots$busy || !device_is_ours()) return(invisible())
    plots$busy <- TRUE
    current <- grDevices::dev.cur()
    on.exit({
        plots$busy <- FALSE
        if (grDevices::dev.cur() != current) grDevices::dev.set(current)
    })
    grDevices::dev.set(plots$device)
    size <- grDevices::dev.size("in")
    plot <- grDevices::recordPlot()
    entries <- drawn(plot[[1L]])
    if (length(entries) > 0L && !identical(entries, plots$last)) {
        resolution <- min(option_number("repr.plot.res", 100), 600)
        svg_file <- tempfile("plot", fileext = ".svg")
        png_file <- tempfile("plot", fileext = ".png")
        replay <- function(open) {
            open()
            on.exit(grDevices::dev.off())
            grDevices::replayPlot(plot)
        }
        replay(function() grDevices::svg(svg_file, width = size[1L], height = size[2L]))
        replay(function() grDevices::png(png_file, width = size[1L], height = size[2L],
                                         units = "in", res = resolution, type = "cairo"))
        emit("plot", list(svg = svg_file, png = png_file))
        unlink(c(svg_file, png_file))
    }
    plots$last <- if (page_turns) NULL else entries
    invisible()
}

turn_page <- function(...) {
    if (!plots$busy && device_is_ours() && grDevices::dev.cur() == plots$device)
        tryCatch(flush_plot(TRUE), error = function(e) NULL)
}

turn_base_page <- function(...) {
    # Only the first figure of a page with several turns the page.
    if (!plots$busy && device_is_ours() && grDevices::dev.cur() == plots$device &&
        graphics::par("page")) turn_page()
}

setHook("before.plot.new", turn_base_page, "append")
setHook("before.grid.newpage", turn_page, "append")
options(device = open_device, warn = 1L, browser = NULL, pager = file.path(R.home("bin"), "pager"),
        help_type = "text", menu.graphics = FALSE, device.ask.default = FALSE)
