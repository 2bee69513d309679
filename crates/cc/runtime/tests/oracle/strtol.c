/* Integers from text: every base, the limits of every type and their neighbours, and texts that are not numbers. */
#include "random.h"
#include <errno.h>
#include <stdio.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *reason(void)
{
    return errno ? strerror(errno) : "-";
}

#define CONVERT(function, format) \
    do { \
        char *end = NULL; \
        errno = 0; \
        printf(" " #function " " format, function(text, &end, base)); \
        printf(" %d %s", end ? (int)(end - text) : -1, reason()); \
    } while (0)

static void convert(const char *text, int base)
{
    printf("[%s] %d:", text, base);
    CONVERT(strtol, "%ld");
    CONVERT(strtoul, "%lu");
    CONVERT(strtoll, "%lld");
    CONVERT(strtoull, "%llu");
    CONVERT(strtoimax, "%jd");
    CONVERT(strtoumax, "%ju");
    printf("\n");
}

static const char *const texts[] = {
    "", " ", "0", "-0", "+0", "1", "-1", "  42", "\t\n\v\f\r 42x", "+-1", "--1", "- 1", "0x", "0xg", "0x1f", "0X1F", "-0x1f", "08", "010",
    "0b11", "z", "Z", "zz", "9z", "2147483647", "2147483648", "-2147483648", "-2147483649", "4294967295", "4294967296", "-4294967295",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551615",
    "18446744073709551616", "-18446744073709551615", "-18446744073709551616", "99999999999999999999999999", "-99999999999999999999999999",
    "0x7fffffffffffffff", "0x8000000000000000", "0xffffffffffffffff", "0x10000000000000000", "0777777777777777777777",
    "1777777777777777777777", "2000000000000000000000", "\200", "1\200", "1.5", "1e5", "0x-1", "00x1", "0 x1",
};

static void random_text(void)
{
    char text[32];
    int base = (int)below(37), length = (int)below(30);
    for (int i = 0; i < length; i++)
        text[i] = "0123456789abcdefXZ-+ "[below(21)];
    text[length] = '\0';
    convert(text, base);
}

int main(void)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (int base = -1; base <= 37; base++)
            convert(texts[i], base);
        printf("%d %ld %lld\n", i < 24 ? atoi(texts[i]) : 0, atol(i < 24 ? texts[i] : "7"), atoll(i < 24 ? texts[i] : "7"));
    }
    for (int i = 0; i < 20000; i++)
        random_text();
    return 0;
}
