/* No include guard: NDEBUG may differ at each inclusion (C11 7.2). */
#include <features.h>

#undef assert
#ifdef NDEBUG
#define assert(expression) ((void)0)
#else
#define assert(expression) ((expression) ? (void)0 : __fb_assert_failed(#expression, __FILE__, __LINE__, __func__))
#endif

#ifndef _ASSERT_H
#define _ASSERT_H
#if __STDC_VERSION__ >= 201112L && __STDC_VERSION__ < 202311L
#define static_assert _Static_assert
#endif
void __fb_assert_failed(const char *, const char *, int, const char *) __FB_NORETURN;
#endif
