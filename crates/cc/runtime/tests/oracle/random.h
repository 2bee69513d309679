/* The same pseudo-random numbers with every library: xorshift64* (G. Marsaglia; S. Vigna, 2014). */
#include <stdint.h>

static uint64_t random_state = 0x9e3779b97f4a7c15;

static inline uint64_t random64(void)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * 0x2545f4914f6cdd1d;
}

static inline uint32_t below(uint32_t limit)
{
    return (uint32_t)(random64() >> 32) % limit;
}
