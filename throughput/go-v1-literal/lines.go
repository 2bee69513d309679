package main

import "strconv"
import "os"

func main() {
    n, _ := strconv.Atoi(os.Args[1])

    for i := 0; i < n; i++ {
        os.Stdout.Write([]byte("hello world\n"))
    }
}
