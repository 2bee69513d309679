/* Functions that the compiler and the processor provide without a library. The others are compiler errors. */
#ifndef _MATH_H
#define _MATH_H

#include <features.h>

typedef float float_t;
typedef double double_t;

#define HUGE_VAL __builtin_huge_val()
#define HUGE_VALF __builtin_huge_valf()
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define M_PI 3.14159265358979323846
#define M_E 2.7182818284590452354

#define isnan(x) __builtin_isnan(x)
#define isinf(x) __builtin_isinf_sign(x)
#define isfinite(x) __builtin_isfinite(x)
#define isnormal(x) __builtin_isnormal(x)
#define signbit(x) __builtin_signbit(x)

static __inline__ double fabs(double x) { return __builtin_fabs(x); }
static __inline__ float fabsf(float x) { return __builtin_fabsf(x); }
static __inline__ double copysign(double x, double y) { return __builtin_copysign(x, y); }

double sqrt(double);
float sqrtf(float);
double floor(double);
double ceil(double);
double trunc(double);
double round(double);

#define __FB_NO_MATH __FB_MISSING("no mathematical functions except sqrt and rounding: link your own libm")
double pow(double, double) __FB_NO_MATH;
double exp(double) __FB_NO_MATH;
double log(double) __FB_NO_MATH;
double log2(double) __FB_NO_MATH;
double log10(double) __FB_NO_MATH;
double sin(double) __FB_NO_MATH;
double cos(double) __FB_NO_MATH;
double tan(double) __FB_NO_MATH;
double atan(double) __FB_NO_MATH;
double atan2(double, double) __FB_NO_MATH;
double fmod(double, double) __FB_NO_MATH;
double ldexp(double, int) __FB_NO_MATH;
double frexp(double, int *) __FB_NO_MATH;
double modf(double, double *) __FB_NO_MATH;

#endif
