// The seed's timed_hello: the first and the hundredth print by the language's own clock, what two readings cost besides.
// The marker goes round os.Stdout, which must not have been used before the first print.
package main

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

func main() {
	clock := time.Hour
	for i := 0; i < 100; i++ {
		clock = min(clock, time.Since(time.Now()))
	}
	syscall.Write(1, []byte(">>>> before print >>>>>\n"))
	var first, hundredth time.Duration
	for i := 1; i <= 100; i++ {
		start := time.Now()
		fmt.Println("hello world")
		taken := time.Since(start)
		if i == 1 {
			first = taken
		}
		hundredth = taken
	}
	fmt.Fprintf(os.Stderr, "first %d ns, hundredth %d ns, clock %d ns\n",
		first.Nanoseconds(), hundredth.Nanoseconds(), clock.Nanoseconds())
}
