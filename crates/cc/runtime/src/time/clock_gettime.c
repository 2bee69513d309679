/* The clock, read through the vDSO by programs that read it often.
 *
 * Finding the function costs more than a few system calls: the pages of the vDSO and of the clock are page faults, and
 * the symbols must be searched. So the first READS_BY_SYSCALL readings are system calls. vdso(7) describes the rest. */
#include "../internal.h"
#include <string.h>
#include <sys/auxv.h>
#include <time.h>

enum { READS_BY_SYSCALL = 16 };

#if defined __x86_64__
#define VDSO_NAME "__vdso_clock_gettime"
#elif defined __aarch64__
#define VDSO_NAME "__kernel_clock_gettime"
#elif defined __riscv
#define VDSO_NAME "__vdso_clock_gettime"
#else
#define VDSO_NAME "__vdso_clock_gettime64"
#endif

typedef int clock_reader(clockid_t, struct timespec *);

static unsigned readings;
static clock_reader *reader; /* null if not found, or not yet searched */

#ifdef __LP64__
struct elf_header {
    unsigned char identity[16];
    uint16_t type, machine;
    uint32_t version;
    uint64_t entry, program_headers, section_headers;
    uint32_t flags;
    uint16_t size, program_header_size, program_header_count;
};
struct program_header {
    uint32_t type, flags;
    uint64_t offset, address, physical, file_size, memory_size, alignment;
};
struct symbol {
    uint32_t name;
    unsigned char kind, other;
    uint16_t section;
    uint64_t value, size;
};
#else
struct elf_header {
    unsigned char identity[16];
    uint16_t type, machine;
    uint32_t version, entry, program_headers, section_headers, flags;
    uint16_t size, program_header_size, program_header_count;
};
struct program_header {
    uint32_t type, offset, address, physical, file_size, memory_size, flags, alignment;
};
struct symbol {
    uint32_t name, value, size;
    unsigned char kind, other;
    uint16_t section;
};
#endif
struct dynamic {
    long tag;
    unsigned long value;
};

enum { PT_LOAD = 1, PT_DYNAMIC = 2, DT_HASH = 4, DT_STRTAB = 5, DT_SYMTAB = 6 };

struct vdso {
    uintptr_t shift; /* from the addresses in its tables to the real ones */
    const struct dynamic *dynamic;
};

static struct vdso find_segments(const struct elf_header *elf)
{
    struct vdso vdso = {0, NULL};
    const struct program_header *header = (const void *)((const char *)elf + elf->program_headers);
    for (unsigned i = 0; i < elf->program_header_count; i++, header++) {
        if (header->type == PT_LOAD && !vdso.shift)
            vdso.shift = (uintptr_t)elf + (uintptr_t)header->offset - (uintptr_t)header->address;
        if (header->type == PT_DYNAMIC)
            vdso.dynamic = (const void *)((const char *)elf + header->offset);
    }
    return vdso;
}

static const void *table(const struct vdso *vdso, long tag)
{
    for (const struct dynamic *each = vdso->dynamic; each && each->tag; each++)
        if (each->tag == tag)
            return (const void *)(vdso->shift + each->value);
    return NULL;
}

/* The second word of DT_HASH is the number of symbols. Without DT_HASH (some vDSOs have only DT_GNU_HASH), this returns
 * null, and the readings stay system calls. */
static clock_reader *find_reader(const struct elf_header *elf)
{
    struct vdso vdso = find_segments(elf);
    const uint32_t *hash = table(&vdso, DT_HASH);
    const struct symbol *symbols = table(&vdso, DT_SYMTAB);
    const char *names = table(&vdso, DT_STRTAB);
    if (!hash || !symbols || !names)
        return NULL;
    for (uint32_t i = 0; i < hash[1]; i++)
        if (symbols[i].section && !strcmp(names + symbols[i].name, VDSO_NAME))
            return (clock_reader *)(vdso.shift + (uintptr_t)symbols[i].value);
    return NULL;
}

static void look_for_reader(void)
{
    int before = errno;
    unsigned long elf = getauxval(AT_SYSINFO_EHDR);
    errno = before;
    if (elf)
        reader = find_reader((const struct elf_header *)elf);
}

int clock_gettime(clockid_t clock, struct timespec *into)
{
    if (readings <= READS_BY_SYSCALL && readings++ == READS_BY_SYSCALL)
        look_for_reader();
    long error = reader ? reader(clock, into) : syscall2(SYS_clock_gettime, clock, into);
    return (int)__fb_return(error);
}
