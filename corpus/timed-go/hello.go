// timed_hello of Hello World Overdone: times the first and the hundredth print, and two readings of the clock itself.
// The marker bypasses os.Stdout, which must not have been used before the first print.
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
