#lang racket/base

(error "no good")
