/* Floating point to text and back: edges, and random bit patterns in every format. */
#include "random.h"
#include <errno.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double of_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static const char *const formats[] = {
    "%f",    "%e",     "%g",    "%a",     "%F",     "%E",      "%G",      "%A",     "%.0f",   "%.0e",   "%.0g",  "%.1f",
    "%.3e",  "%.17g",  "%.20f", "%.40e",  "%.10a",  "%.0a",    "%#.0f",   "%#g",    "%#.0e",  "%#a",    "%+f",   "% e",
    "%30f",  "%-30g|", "%030e", "%+030a", "%-+30e|", "%.1100f", "%.800g", "%.1100e", "%.1f",  "%#.3g", "%.15g", "%08.3f",
    "%-#12.0e|", "% 020g", "%.12a", "%.13a", "%.14a", "%2a",
};

static void show(double value)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        static char text[4096];
        int length = snprintf(text, sizeof text, formats[i], value);
        printf("%s %d %s\n", formats[i], length, text);
    }
}

/* Without 999999.5, which glibc 2.36 prints with %#g as "1.e+06", without the zeros that # requires. */
static void edges(void)
{
    static const double values[] = {0.0,     -0.0,    1.0,     0.5,     1.5,     2.5,       0.1,    9.5,   99.5,   99999.5,
                                    1e5,     1e6,     1e-4,    1e-5,    123456,  1234567,   1e15,   1e16,  1e17,   1e22,
                                    1e23,    5e-324,  DBL_MIN, DBL_MAX, DBL_EPSILON, 0.0001, 0.00001, 9.9999995, 0.3, 100};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        show(values[i]);
        show(-values[i]);
    }
    show(of_bits(0x7ff0000000000000));
    show(of_bits(0xfff0000000000000));
    show(of_bits(0x7ff8000000000000));
}

static void random_patterns(void)
{
    for (int i = 0; i < 300; i++) {
        double value = of_bits(random64());
        if (value == value)
            show(value);
    }
    for (int i = 0; i < 20000; i++) {
        double value = of_bits(random64()), back;
        char text[64];
        if (value != value)
            continue;
        snprintf(text, sizeof text, "%.17g", value);
        back = strtod(text, NULL);
        printf("%s %s\n", text, memcmp(&back, &value, sizeof value) ? "LOST" : "same");
    }
}

static void convert(const char *text)
{
    char *end;
    errno = 0;
    double wide = strtod(text, &end);
    printf("[%s] %a %d %s", text, wide, (int)(end - text), errno ? strerror(errno) : "-");
    errno = 0;
    float narrow = strtof(text, &end);
    printf(" float %a %d %s\n", (double)narrow, (int)(end - text), errno ? strerror(errno) : "-");
}

static void fixed_texts(void)
{
    static const char *const texts[] = {
        "0", "-0", "+1", " 1.5", "\t\n2", "", " ", "+", "-", ".", "e5", ".e5", "1.", ".5", "1e", "1e+", "1e5", "1E-5", "1e5x",
        "0x", "0x1", "0x.8p1", "0x1.8", "0X1P3", "0x1p", "0x1.921fb54442d18p1", "0x1.fffffffffffff8p0", "0x1.fffffffffffff7p0",
        "0x1p-1074", "0x1p-1075", "0x1.8p-1075", "0x1p-1076", "0x1p1023", "0x1p1024", "0x.0000000000001p-1020", "0x1p99999999999",
        "0x0p99999999999", "inf", "-inf", "infinity", "INFINITYx", "infinit", "nan", "NaN", "nan(abc)", "nan(", "nan()", "in",
        "1e308", "1.7976931348623157e308", "1.7976931348623158e308", "1.7976931348623159e308", "1e309", "1e-307", "2.2250738585072014e-308",
        "2.2250738585072011e-308", "4.9e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "2.5e-324", "1e-400", "1e400",
        "0e99999999999999999999", "1e99999999999999999999", "1e-99999999999999999999", "9007199254740993", "9007199254740992.999999",
        "9007199254740993.0000000000000000000000000001", "123456789012345678901234567890", "0.1", "0.3", "3.14159265358979323846",
        "8.5", "16777217", "1.00000017881393432617187499", "1.00000017881393432617187500", "1.00000017881393432617187501", "3.4028235e38",
        "3.4028236e38", "3.4028235677973366e38", "1.17549428e-38", "1.4e-45", "7e-46", "1,5", "1.5.5", "1_000", "00012", "-.5e-2z",
        "179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017977587207096330286416692887910946555547851940402630657488671505820681908902000708383676273854845817711531764475730270069855571366959622842914819860834936475292719074168444365510704342711559699508093042880",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        convert(texts[i]);
}

static void random_texts(void)
{
    for (int i = 0; i < 20000; i++) {
        char text[64];
        int digits = 1 + (int)below(25), point = (int)below((uint32_t)digits + 1), at = 0;
        for (int d = 0; d < digits; d++) {
            if (d == point)
                text[at++] = '.';
            text[at++] = (char)('0' + below(10));
        }
        snprintf(text + at, sizeof text - (size_t)at, "e%d", (int)below(700) - 350);
        convert(text);
    }
}

/* Without 1.1754943508222875e-38, which rounds up to the smallest normal float. glibc on x86 and glibc on aarch64 disagree
 * whether that is an underflow, and ISO C leaves it open. */
/* Halfway between neighbours, with and without further digits. */
static void halves(void)
{
    for (int i = 0; i < 300; i++) {
        static char text[1400];
        uint64_t bits = random64() & 0x7fffffffffffffff;
        if (bits >> 52 == 0x7ff)
            continue;
        double value = of_bits(bits), next = of_bits(bits + 1);
        if (bits >> 52 > 1 && bits >> 52 < 0x7fe)
            snprintf(text, sizeof text, "%.1100f", value / 2 + next / 2);
        else
            snprintf(text, sizeof text, "%.1100f", value);
        convert(text);
        strcat(text, "1");
        convert(text);
    }
}

int main(void)
{
    edges();
    random_patterns();
    fixed_texts();
    random_texts();
    halves();
    return 0;
}
