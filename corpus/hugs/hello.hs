module Main where
main = putStrLn "hello world"
