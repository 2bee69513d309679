yes "hello world" | head -n "$1"
