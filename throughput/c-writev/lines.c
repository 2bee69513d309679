#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { LINE = 12, BLOCK = 61440, MOST = 1024 }; // 5120 lines, 15 pages; UIO_MAXIOV

static char block[BLOCK] __attribute__((aligned(4096)));
static struct iovec repeated[MOST];

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    for (int at = 0; at < BLOCK; at += LINE) memcpy(block + at, "hello world\n", LINE);
    for (int i = 0; i < MOST; i++) repeated[i] = (struct iovec){block, BLOCK};
    for (long long done = 0, total = atoll(argv[1]) * LINE; done < total;) {
        long long rest = total - done, whole = rest / BLOCK < MOST ? rest / BLOCK : MOST;
        long long part = BLOCK - done % LINE;
        ssize_t wrote = done % LINE == 0 && whole > 0
            ? writev(1, repeated, whole)
            : write(1, block + done % LINE, part < rest ? part : rest);
        if (wrote <= 0) return 1;
        done += wrote;
    }
    return 0;
}
