(let ((total (loop for line = (read-line *standard-input* nil)
                   while line sum (parse-integer line))))
  (format t "Σ = ~a ✓~%" total))
