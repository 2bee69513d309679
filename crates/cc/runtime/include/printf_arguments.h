/* Detects at compile time whether a call of printf has a floating-point argument, so that only programs that print
 * floating point link its conversion. ISO C allows a library function to be a macro as well (C11 7.1.4). No argument is
 * evaluated twice, because _Generic evaluates nothing. This has one limit: a compound literal with commas must be in
 * parentheses, as in the arguments of any macro. */
#ifndef _PRINTF_ARGUMENTS_H
#define _PRINTF_ARGUMENTS_H

void __fb_link_floating_point(void);
void __fb_no_long_double(void) __FB_NOT_CALLED("no long double in printf: convert it to double");

#define __FB_IS_DOUBLE(x) _Generic((x), float: 1, double: 1, default: 0)
#define __FB_IS_LONG_DOUBLE(x) _Generic((x), long double: 1, default: 0)

/* __FB_ANY(test, format, arguments...) is 1 if the test holds for any argument. For more than 16 arguments it is assumed
 * to hold. More than 127, the minimum that ISO C requires of a compiler, are not supported. */
#define __FB_COUNTED( \
    _0, _1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, _17, _18, _19, _20, _21, _22, \
    _23, _24, _25, _26, _27, _28, _29, _30, _31, _32, _33, _34, _35, _36, _37, _38, _39, _40, _41, _42, _43, \
    _44, _45, _46, _47, _48, _49, _50, _51, _52, _53, _54, _55, _56, _57, _58, _59, _60, _61, _62, _63, _64, \
    _65, _66, _67, _68, _69, _70, _71, _72, _73, _74, _75, _76, _77, _78, _79, _80, _81, _82, _83, _84, _85, \
    _86, _87, _88, _89, _90, _91, _92, _93, _94, _95, _96, _97, _98, _99, _100, _101, _102, _103, _104, _105, \
    _106, _107, _108, _109, _110, _111, _112, _113, _114, _115, _116, _117, _118, _119, _120, _121, _122, \
    _123, _124, _125, _126, _127, \
    name, ...) name
#define __FB_ANY(test, ...) \
    __FB_COUNTED(__VA_ARGS__, \
    __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, \
    __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, \
    __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, \
    __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, \
    __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, \
    __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, \
    __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, \
    __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, \
    __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, \
    __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, \
    __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, \
    __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, \
    __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, \
    __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, \
    __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, \
    __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY_MANY, __FB_ANY16, \
    __FB_ANY15, __FB_ANY14, __FB_ANY13, __FB_ANY12, __FB_ANY11, __FB_ANY10, __FB_ANY9, __FB_ANY8, __FB_ANY7, \
    __FB_ANY6, __FB_ANY5, __FB_ANY4, __FB_ANY3, __FB_ANY2, __FB_ANY1, __FB_ANY0, \
    0)(test, __VA_ARGS__)

#define __FB_ANY0(t, f) 0
#define __FB_ANY1(t, f, a) t(a)
#define __FB_ANY2(t, f, a, ...) t(a) | __FB_ANY1(t, f, __VA_ARGS__)
#define __FB_ANY3(t, f, a, ...) t(a) | __FB_ANY2(t, f, __VA_ARGS__)
#define __FB_ANY4(t, f, a, ...) t(a) | __FB_ANY3(t, f, __VA_ARGS__)
#define __FB_ANY5(t, f, a, ...) t(a) | __FB_ANY4(t, f, __VA_ARGS__)
#define __FB_ANY6(t, f, a, ...) t(a) | __FB_ANY5(t, f, __VA_ARGS__)
#define __FB_ANY7(t, f, a, ...) t(a) | __FB_ANY6(t, f, __VA_ARGS__)
#define __FB_ANY8(t, f, a, ...) t(a) | __FB_ANY7(t, f, __VA_ARGS__)
#define __FB_ANY9(t, f, a, ...) t(a) | __FB_ANY8(t, f, __VA_ARGS__)
#define __FB_ANY10(t, f, a, ...) t(a) | __FB_ANY9(t, f, __VA_ARGS__)
#define __FB_ANY11(t, f, a, ...) t(a) | __FB_ANY10(t, f, __VA_ARGS__)
#define __FB_ANY12(t, f, a, ...) t(a) | __FB_ANY11(t, f, __VA_ARGS__)
#define __FB_ANY13(t, f, a, ...) t(a) | __FB_ANY12(t, f, __VA_ARGS__)
#define __FB_ANY14(t, f, a, ...) t(a) | __FB_ANY13(t, f, __VA_ARGS__)
#define __FB_ANY15(t, f, a, ...) t(a) | __FB_ANY14(t, f, __VA_ARGS__)
#define __FB_ANY16(t, f, a, ...) t(a) | __FB_ANY15(t, f, __VA_ARGS__)
#define __FB_ANY_MANY(t, ...) t(0.0)

#define __FB_LINKED(...) \
    ((void)(__FB_ANY(__FB_IS_DOUBLE, __VA_ARGS__) ? __fb_link_floating_point() : (void)0), \
     (void)(__FB_ANY(__FB_IS_LONG_DOUBLE, __VA_ARGS__) ? __fb_no_long_double() : (void)0))

#define printf(...) (__FB_LINKED(__VA_ARGS__), printf(__VA_ARGS__))
#define fprintf(stream, ...) (__FB_LINKED(__VA_ARGS__), fprintf(stream, __VA_ARGS__))
#define dprintf(descriptor, ...) (__FB_LINKED(__VA_ARGS__), dprintf(descriptor, __VA_ARGS__))
#define sprintf(string, ...) (__FB_LINKED(__VA_ARGS__), sprintf(string, __VA_ARGS__))
#define snprintf(string, size, ...) (__FB_LINKED(__VA_ARGS__), snprintf(string, size, __VA_ARGS__))

#endif
