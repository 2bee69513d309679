package main

import (
	"log"
	"os"
	"strconv"
)

func main() {
	n, err := strconv.Atoi(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	for i := 0; i < n; i++ {
		if _, err := os.Stdout.Write([]byte("hello world\n")); err != nil {
			log.Fatal(err)
		}
	}
}
