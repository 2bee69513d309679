#lang racket
(displayln "hello world")
