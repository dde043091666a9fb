(use-modules (ice-9 rdelim))

(define (sum total)
  (let ((line (read-line)))
    (if (eof-object? line) total (sum (+ total (string->number line))))))

(format #t "Σ = ~a ✓~%" (sum 0))
