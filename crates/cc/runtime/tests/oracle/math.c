/* <math.h>: square roots and rounding, bit for bit. The calls go through pointers, because the compiler would replace them. */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>

static double (*volatile functions[])(double) = {sqrt, floor, ceil, trunc, round};
static float (*volatile narrow_root)(float) = sqrtf;

static uint64_t bits_of(double value)
{
    volatile double stored = value;
    union { double value; uint64_t bits; } both = {.value = stored};
    return isnan(both.value) ? 1 : both.bits;
}

static void all(double value)
{
    printf("%llx:", (unsigned long long)bits_of(value));
    for (int i = 0; i < 5; i++) {
        errno = 0;
        uint64_t result = bits_of(functions[i](value));
        printf(" %llx %d", (unsigned long long)result, errno);
    }
    volatile float root = narrow_root((float)value); /* stored, because i386 returns it in a wider register */
    printf(" %llx\n", (unsigned long long)bits_of(root));
}

int main(void)
{
    static const double edges[] = {0.0, 0.49999999999999994, 0.5, 1.0, 1.5, 2.0, 2.5, 4503599627370495.5, 4503599627370496.0,
        4503599627370497.0, 9007199254740993.0, 1e300, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, INFINITY};
    for (unsigned i = 0; i < sizeof edges / sizeof *edges; i++) {
        all(edges[i]);
        all(-edges[i]);
    }
    all(NAN);
    uint64_t state = 7;
    for (int i = 0; i < 20000; i++) {
        state = state * 6364136223846793005 + 1442695040888963407;
        union { uint64_t bits; double value; } any = {.bits = state ^ state >> 29};
        all(any.value);
        all((double)(int64_t)any.bits / 4294967296.0);
    }
    return 0;
}
