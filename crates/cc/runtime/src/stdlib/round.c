/* Rounding to integers, with the bits of the number: the sign, 11 bits of exponent, 52 bits of fraction. */
#include "../internal.h"
#include <math.h>

union bits {
    double value;
    uint64_t bits;
};

double trunc(double value)
{
    union bits number = {.value = value};
    int exponent = (int)(number.bits >> 52 & 0x7ff) - 1023;
    if (exponent >= 52) /* an integer, an infinity or a NaN */
        return value;
    number.bits &= exponent < 0 ? (uint64_t)1 << 63 : ~((((uint64_t)1 << 52) - 1) >> exponent);
    return number.value;
}

double floor(double value)
{
    double whole = trunc(value);
    return whole > value ? whole - 1 : whole;
}

double ceil(double value)
{
    double whole = trunc(value);
    return whole < value ? whole + 1 : whole;
}

/* Halves are rounded away from zero. */
double round(double value)
{
    double whole = trunc(value), rest = value - whole;
    if (rest >= 0.5)
        return whole + 1;
    return rest <= -0.5 ? whole - 1 : whole;
}
