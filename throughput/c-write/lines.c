#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE = 12, BLOCK = 61440 }; // 5120 lines, 15 pages

static char block[BLOCK] __attribute__((aligned(4096)));

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    for (int at = 0; at < BLOCK; at += LINE) memcpy(block + at, "hello world\n", LINE);
    for (long long done = 0, total = atoll(argv[1]) * LINE; done < total;) {
        long long rest = BLOCK - done % LINE;
        ssize_t wrote = write(1, block + done % LINE, rest < total - done ? rest : total - done);
        if (wrote <= 0) return 1;
        done += wrote;
    }
    return 0;
}
