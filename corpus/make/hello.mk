all: ; @echo hello world
