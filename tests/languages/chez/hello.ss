(define (sum total)
  (let ([value (read)])
    (if (eof-object? value) total (sum (+ total value)))))

(printf "Σ = ~a ✓\n" (sum 0))
