/* PCG-XSH-RR (M. E. O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms for Random
 * Number Generation", 2014) with 64 bits of state. The numbers differ from those of other libraries, as ISO C allows. */
#include "../internal.h"
#include <stdlib.h>

static uint64_t steps; /* 0 before the first srand, which counts as srand(1) */

void srand(unsigned seed)
{
    steps = ((uint64_t)seed << 1 | 1) * 0x9e3779b97f4a7c15;
}

int rand(void)
{
    if (!steps)
        srand(1);
    uint64_t state = steps;
    steps = state * 6364136223846793005 + 1442695040888963407;
    uint32_t mixed = (uint32_t)((state >> 18 ^ state) >> 27), turn = (uint32_t)(state >> 59);
    return (int)((mixed >> turn | mixed << (-turn & 31)) & RAND_MAX);
}
