# SPDX-License-Identifier: Apache-2.0
# A data frame as HTML for people and as columns for programs.

shown_rows <- 60L
shown_columns <- 40L
sent_rows <- 10000L
sent_columns <- 200L
sent_cells <- 200000L

escape_html <- function(text) {
    text <- gsub("&", "&amp;", text, fixed = TRUE)
    text <- gsub("<", "&lt;", text, fixed = TRUE)
    gsub(">", "&gt;", text, fixed = TRUE)
}

cell_texts <- function(column) {
    if (is.list(column)) vapply(column, function(x) paste(format(x), collapse = ", "), "")
    else if (is.matrix(column) || is.data.frame(column)) apply(format(column), 1L, paste, collapse = ", ")
    else as.character(format(column))
}

html_of <- function(frame) {
    rows <- min(nrow(frame), shown_rows)
    columns <- min(ncol(frame), shown_columns)
    names <- escape_html(names(frame)[seq_len(columns)])
    plain <- as.data.frame(frame)
    labels <- escape_html(rownames(plain)[seq_len(rows)])
    cells <- vapply(seq_len(columns), function(i) {
        column <- plain[[i]]
        part <- if (length(dim(column)) == 2L) column[seq_len(rows), , drop = FALSE]
                else column[seq_len(rows)]
        escape_html(trimws(cell_texts(part)))
    }, character(rows))
    dim(cells) <- c(rows, columns)
    head <- paste0("<th>", c("", names), "</th>", collapse = "")
    body <- vapply(seq_len(rows), function(r) {
        paste0("<tr><th>", labels[r], "</th>", paste0("<td>", cells[r, ], "</td>", collapse = ""),
               "</tr>")
    }, "")
    cut <- if (rows < nrow(frame) || columns < ncol(frame))
        paste0("<p>", nrow(frame), " rows, ", ncol(frame), " columns</p>")
    paste(c("<table>", paste0("<thead><tr>", head, "</tr></thead>"), "<tbody>", body,
            "</tbody></table>", cut), collapse = "\n")
}

# Types are R's own class names, as a pandas table carries pandas' own.
column_of <- function(column, rows) {
    type <- class(column)[1L]
    if (length(dim(column)) == 2L) column <- cell_texts(column)
    column <- column[seq_len(rows)]
    values <- if (is.factor(column)) as.character(column)
        else if (inherits(column, "Date")) format(column, "%Y-%m-%d")
        else if (inherits(column, "POSIXt")) format(column, "%Y-%m-%dT%H:%M:%S%z")
        else if (is.object(column) || !(is.logical(column) || is.numeric(column) ||
                                        is.character(column))) cell_texts(column)
        else as.vector(column)
    list(type, if (is.character(values)) enc2utf8(values) else values)
}

index_of <- function(frame, rows) {
    automatic <- .row_names_info(frame) < 0L
    list(type = if (automatic) "integer" else "character",
         values = if (automatic) seq_len(rows) else enc2utf8(rownames(frame)[seq_len(rows)]))
}

table_of <- function(frame) {
    columns <- min(ncol(frame), sent_columns)
    rows <- min(nrow(frame), sent_rows, sent_cells %/% max(columns, 1L))
    plain <- as.data.frame(frame)
    parts <- lapply(seq_len(columns), function(i) column_of(plain[[i]], rows))
    list(`text/html` = enc2utf8(html_of(frame)),
         table = list(names = enc2utf8(names(plain)[seq_len(columns)]),
                      types = vapply(parts, function(part) part[[1L]], ""),
                      values = lapply(parts, function(part) part[[2L]]),
                      index = index_of(plain, rows),
                      rows = nrow(frame),
                      truncated = rows < nrow(frame) || columns < ncol(frame)))
}
