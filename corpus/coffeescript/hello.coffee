console.log "hello world"
