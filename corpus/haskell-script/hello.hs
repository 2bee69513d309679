main = putStrLn "hello world"
