#lang racket

(define total (for/sum ([line (in-lines)]) (string->number line)))
(printf "Σ = ~a ✓\n" total)
