/* statx(2) has the same layout on every architecture. The older calls have different ones. */
#include "../internal.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { AT_EMPTY_PATH = 0x1000, STATX_BASIC_STATS = 0x7ff };

/* kernel: include/uapi/linux/stat.h */
struct statx_time {
    int64_t seconds;
    uint32_t nanoseconds;
    int32_t reserved;
};

struct statx {
    uint32_t mask, block_size;
    uint64_t attributes;
    uint32_t links, user, group;
    uint16_t mode, padding;
    uint64_t inode, size, blocks, attributes_mask;
    struct statx_time access, birth, change, modification;
    uint32_t special_major, special_minor, device_major, device_minor;
    uint64_t spare[14];
};

/* glibc's encoding of device numbers, gnu_dev_makedev(3) */
static dev_t device(uint32_t major, uint32_t minor)
{
    return ((dev_t)(major & 0xfffff000) << 32) | ((dev_t)(major & 0xfff) << 8) | ((dev_t)(minor & 0xffffff00) << 12) |
           (minor & 0xff);
}

static struct timespec instant(const struct statx_time *time)
{
    return (struct timespec){.tv_sec = time->seconds, .tv_nsec = (long)time->nanoseconds};
}

static struct stat from_statx(const struct statx *x)
{
    return (struct stat){
        .st_dev = device(x->device_major, x->device_minor),
        .st_ino = x->inode,
        .st_mode = x->mode,
        .st_nlink = x->links,
        .st_uid = x->user,
        .st_gid = x->group,
        .st_rdev = device(x->special_major, x->special_minor),
        .st_size = (off_t)x->size,
        .st_blksize = (blksize_t)x->block_size,
        .st_blocks = (blkcnt_t)x->blocks,
        .st_atim = instant(&x->access),
        .st_mtim = instant(&x->modification),
        .st_ctim = instant(&x->change),
    };
}

int fstatat(int folder, const char *restrict path, struct stat *restrict into, int flags)
{
    struct statx found;
    long error = syscall5(SYS_statx, folder, path, flags, STATX_BASIC_STATS, &found);
    if (__fb_return(error))
        return -1;
    *into = from_statx(&found);
    return 0;
}

int stat(const char *restrict path, struct stat *restrict into)
{
    return fstatat(AT_FDCWD, path, into, 0);
}

int lstat(const char *restrict path, struct stat *restrict into)
{
    return fstatat(AT_FDCWD, path, into, AT_SYMLINK_NOFOLLOW);
}

int fstat(int descriptor, struct stat *into)
{
    return fstatat(descriptor, "", into, AT_EMPTY_PATH);
}

int mkdir(const char *path, mode_t mode)
{
    return (int)__fb_return(syscall3(SYS_mkdirat, AT_FDCWD, path, mode));
}
