# SPDX-License-Identifier: Apache-2.0
# Evaluates code as R's own prompt would, and hands results, plots and errors to the front.
#
# Each value goes out through emit(kind, payload); the front turns it into a frame at once, so that
# output, plots and results keep their order.

version_text <- function() paste(R.version$major, R.version$minor, sep = ".")

emit <- function(kind, payload) .Call(emit_address, kind, payload)

first_line <- function(text) strsplit(paste(text, collapse = " "), "\n", fixed = TRUE)[[1]][1]

show_call <- function(call) {
    text <- tryCatch(deparse(call, width.cutoff = 200L, nlines = 1L), error = function(e) "<call>")
    substr(enc2utf8(first_line(text)), 1L, 200L)
}

send_error <- function(name, value, call = NULL, calls = list()) {
    head <- if (is.null(call)) paste0("Error: ", value)
            else paste0("Error in ", show_call(call), ": ", value)
    # A recursion without end has thousands of calls; its two ends tell the story.
    count <- length(calls)
    keep <- if (count > 30L) c(seq_len(15L), seq.int(count - 14L, count)) else seq_len(count)
    lines <- vapply(keep, function(i) paste0("  ", i, ". ", show_call(calls[[i]])), "")
    if (count > 0L) lines <- c("Traceback:", lines)
    emit("error", list(name = name, value = enc2utf8(value), traceback = enc2utf8(c(head, lines))))
}

# The guest's calls: without ours at the start, and without R's way into the handler at the end.
guest_calls <- function(calls, skip) {
    calls <- calls[-seq_len(min(skip, length(calls)))]
    heads <- vapply(calls, function(call) {
        if (is.name(call[[1L]])) as.character(call[[1L]]) else ""
    }, "")
    handler <- match(".handleSimpleError", heads)
    if (!is.na(handler)) calls[seq_len(handler - 1L)]
    else calls[-length(calls)]
}

read_code <- function(code) parse(text = code, keep.source = TRUE, encoding = "UTF-8")

run <- function(code) {
    expressions <- tryCatch(read_code(code), error = identity)
    if (inherits(expressions, "error")) {
        send_error("ParseError", conditionMessage(expressions))
        return("error")
    }
    status <- tryCatch({
        run_all(expressions)
        "ok"
    }, glovebox_reported = function(e) "error",
    interrupt = function(e) {
        send_error("interrupt", "the execution was interrupted")
        "error"
    }, error = function(e) {
        # Reached only where no calling handler could run, as when R's own stacks are exhausted.
        send_error(class(e)[1L], conditionMessage(e), conditionCall(e))
        "error"
    })
    tryCatch(flush_plot(FALSE), error = function(e) NULL, interrupt = function(e) NULL)
    .Internal(printDeferredWarnings())
    status
}

run_all <- function(expressions) {
    count <- length(expressions)
    for (i in seq_len(count)) {
        value <- guarded(withVisible(eval(expressions[[i]], globalenv())))
        .GlobalEnv$.Last.value <- value$value
        if (value$visible) guarded(if (i == count) send_result(value$value) else show_value(value$value))
        # An interrupt that came while R waited for input is still to be taken.
        Sys.sleep(0)
    }
}

# What R names as the place of a condition that came from the top level.
is_ours <- function(call) identical(call, quote(eval(expressions[[i]], globalenv())))

# Reports an error while the stack that led to it still stands, then leaves the execution.
guarded <- function(expression) {
    skip <- sys.nframe() + 4L
    withCallingHandlers(expression, error = function(e) {
        calls <- guest_calls(sys.calls(), skip)
        call <- conditionCall(e)
        send_error(class(e)[1L], conditionMessage(e), if (!is_ours(call)) call, calls)
        signalCondition(structure(class = c("glovebox_reported", "condition"),
                                  list(message = "", call = NULL)))
    }, warning = function(w) {
        if (is_ours(conditionCall(w)) && identical(as.integer(getOption("warn")), 1L)) {
            cat("Warning: ", conditionMessage(w), "\n", sep = "", file = stderr())
            invokeRestart("muffleWarning")
        }
    })
}

show_value <- function(value) {
    if (isS4(value)) methods::show(value) else print(value)
}

send_result <- function(value) {
    text <- utils::capture.output(show_value(value))
    # A plot object draws instead of writing, and a guest's sink() may have taken the text.
    if (length(text) == 0L) return(invisible())
    data <- list(`text/plain` = paste(enc2utf8(text), collapse = "\n"))
    if (is.data.frame(value)) {
        rich <- tryCatch(table_of(value), error = function(e) list())
        data <- c(data, rich)
    } else if (inherits(value, c("html", "shiny.tag", "shiny.tag.list"))) {
        data$`text/html` <- enc2utf8(paste(as.character(value), collapse = "\n"))
    }
    emit("result", data)
}

is_complete <- function(code) {
    message <- tryCatch({
        read_code(code)
        ""
    }, error = conditionMessage)
    if (message == "") "complete"
    else if (grepl("unexpected (end of input|INCOMPLETE_STRING)", message)) "incomplete"
    else "invalid"
}

complete <- function(code, cursor) {
    before <- substr(code, 1L, cursor)
    line <- sub(".*\n", "", before)
    utils:::.assignLinebuffer(line)
    utils:::.assignEnd(nchar(line))
    token <- utils:::.guessTokenFromLine()
    utils:::.completeToken()
    matches <- utils:::.retrieveCompletions()
    list(matches = enc2utf8(utils::head(matches, 500L)), size = nchar(token))
}

inspect <- function(code, cursor) {
    before <- regmatches(code, gregexpr("[A-Za-z.][A-Za-z0-9._]*", code))[[1L]]
    starts <- gregexpr("[A-Za-z.][A-Za-z0-9._]*", code)[[1L]]
    ends <- starts + attr(starts, "match.length") - 1L
    at <- which(starts <= cursor + 1L & ends >= cursor)
    if (length(at) == 0L || starts[1L] < 0L) return(NULL)
    name <- before[at[1L]]
    if (!exists(name, envir = globalenv())) return(NULL)
    value <- get(name, envir = globalenv())
    text <- if (is.function(value)) utils::capture.output(print(args(value)))
            else utils::capture.output(utils::str(value))
    text <- text[text != "NULL"]
    enc2utf8(paste(c(name, utils::head(text, 200L)), collapse = "\n"))
}

variables <- function() {
    names <- utils::head(ls(globalenv()), 1000L)
    describe <- function(name) {
        # A promise or an active binding would run guest code here, and could fail.
        tryCatch({
            value <- get(name, envir = globalenv())
            text <- utils::capture.output(utils::str(value, give.head = FALSE, list.len = 5L))
            c(class(value)[1L], substr(trimws(first_line(text)), 1L, 200L))
        }, error = function(e) c("unknown", ""))
    }
    described <- lapply(names, describe)
    list(name = enc2utf8(names), type = vapply(described, `[`, "", 1L),
         value = enc2utf8(vapply(described, `[`, "", 2L)))
}
