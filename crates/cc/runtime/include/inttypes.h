#ifndef _INTTYPES_H
#define _INTTYPES_H

#include <stdint.h>

/* 64-bit integers are long if pointers have 64 bits, and long long otherwise. */
#ifdef __LP64__
#define __FB_PRI64 "l"
#define __FB_PRIPTR "l"
#else
#define __FB_PRI64 "ll"
#define __FB_PRIPTR ""
#endif

#define PRId8 "hhd"
#define PRId16 "hd"
#define PRId32 "d"
#define PRId64 __FB_PRI64 "d"
#define PRIdMAX "jd"
#define PRIdPTR __FB_PRIPTR "d"
#define PRIdLEAST8 PRId8
#define PRIdLEAST16 PRId16
#define PRIdLEAST32 PRId32
#define PRIdLEAST64 PRId64
#define PRIdFAST8 PRId8
#define PRIdFAST16 PRIdPTR
#define PRIdFAST32 PRIdPTR
#define PRIdFAST64 PRId64
#define PRIi8 "hhi"
#define PRIi16 "hi"
#define PRIi32 "i"
#define PRIi64 __FB_PRI64 "i"
#define PRIiMAX "ji"
#define PRIiPTR __FB_PRIPTR "i"
#define PRIiLEAST8 PRIi8
#define PRIiLEAST16 PRIi16
#define PRIiLEAST32 PRIi32
#define PRIiLEAST64 PRIi64
#define PRIiFAST8 PRIi8
#define PRIiFAST16 PRIiPTR
#define PRIiFAST32 PRIiPTR
#define PRIiFAST64 PRIi64
#define PRIo8 "hho"
#define PRIo16 "ho"
#define PRIo32 "o"
#define PRIo64 __FB_PRI64 "o"
#define PRIoMAX "jo"
#define PRIoPTR __FB_PRIPTR "o"
#define PRIoLEAST8 PRIo8
#define PRIoLEAST16 PRIo16
#define PRIoLEAST32 PRIo32
#define PRIoLEAST64 PRIo64
#define PRIoFAST8 PRIo8
#define PRIoFAST16 PRIoPTR
#define PRIoFAST32 PRIoPTR
#define PRIoFAST64 PRIo64
#define PRIu8 "hhu"
#define PRIu16 "hu"
#define PRIu32 "u"
#define PRIu64 __FB_PRI64 "u"
#define PRIuMAX "ju"
#define PRIuPTR __FB_PRIPTR "u"
#define PRIuLEAST8 PRIu8
#define PRIuLEAST16 PRIu16
#define PRIuLEAST32 PRIu32
#define PRIuLEAST64 PRIu64
#define PRIuFAST8 PRIu8
#define PRIuFAST16 PRIuPTR
#define PRIuFAST32 PRIuPTR
#define PRIuFAST64 PRIu64
#define PRIx8 "hhx"
#define PRIx16 "hx"
#define PRIx32 "x"
#define PRIx64 __FB_PRI64 "x"
#define PRIxMAX "jx"
#define PRIxPTR __FB_PRIPTR "x"
#define PRIxLEAST8 PRIx8
#define PRIxLEAST16 PRIx16
#define PRIxLEAST32 PRIx32
#define PRIxLEAST64 PRIx64
#define PRIxFAST8 PRIx8
#define PRIxFAST16 PRIxPTR
#define PRIxFAST32 PRIxPTR
#define PRIxFAST64 PRIx64
#define PRIX8 "hhX"
#define PRIX16 "hX"
#define PRIX32 "X"
#define PRIX64 __FB_PRI64 "X"
#define PRIXMAX "jX"
#define PRIXPTR __FB_PRIPTR "X"
#define PRIXLEAST8 PRIX8
#define PRIXLEAST16 PRIX16
#define PRIXLEAST32 PRIX32
#define PRIXLEAST64 PRIX64
#define PRIXFAST8 PRIX8
#define PRIXFAST16 PRIXPTR
#define PRIXFAST32 PRIXPTR
#define PRIXFAST64 PRIX64

typedef struct { intmax_t quot, rem; } imaxdiv_t;
intmax_t imaxabs(intmax_t);
imaxdiv_t imaxdiv(intmax_t, intmax_t);
intmax_t strtoimax(const char *__restrict__, char **__restrict__, int);
uintmax_t strtoumax(const char *__restrict__, char **__restrict__, int);

#endif
