(let ((total 0) line)
  (while (setq line (ignore-errors (read-from-minibuffer "")))
    (setq total (+ total (string-to-number line))))
  (princ (format "Σ = %d ✓\n" total)))
