package main

import (
	"bufio"
	"log"
	"os"
	"strconv"
)

func main() {
	n, err := strconv.Atoi(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	w := bufio.NewWriter(os.Stdout)
	for i := 0; i < n; i++ {
		w.Write([]byte("hello world\n"))
	}
	if err := w.Flush(); err != nil {
		log.Fatal(err)
	}
}
