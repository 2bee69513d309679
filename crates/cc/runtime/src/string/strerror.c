/* The messages of glibc, so that a program prints the same with both. */
#include "../internal.h"
#include <stdio.h>
#include <string.h>

/* In the order of their numbers, from 0. Two numbers are unused. */
static const char messages[] =
    "Success\0"
    "Operation not permitted\0" /* EPERM */
    "No such file or directory\0" /* ENOENT */
    "No such process\0" /* ESRCH */
    "Interrupted system call\0" /* EINTR */
    "Input/output error\0" /* EIO */
    "No such device or address\0" /* ENXIO */
    "Argument list too long\0" /* E2BIG */
    "Exec format error\0" /* ENOEXEC */
    "Bad file descriptor\0" /* EBADF */
    "No child processes\0" /* ECHILD */
    "Resource temporarily unavailable\0" /* EAGAIN */
    "Cannot allocate memory\0" /* ENOMEM */
    "Permission denied\0" /* EACCES */
    "Bad address\0" /* EFAULT */
    "Block device required\0" /* ENOTBLK */
    "Device or resource busy\0" /* EBUSY */
    "File exists\0" /* EEXIST */
    "Invalid cross-device link\0" /* EXDEV */
    "No such device\0" /* ENODEV */
    "Not a directory\0" /* ENOTDIR */
    "Is a directory\0" /* EISDIR */
    "Invalid argument\0" /* EINVAL */
    "Too many open files in system\0" /* ENFILE */
    "Too many open files\0" /* EMFILE */
    "Inappropriate ioctl for device\0" /* ENOTTY */
    "Text file busy\0" /* ETXTBSY */
    "File too large\0" /* EFBIG */
    "No space left on device\0" /* ENOSPC */
    "Illegal seek\0" /* ESPIPE */
    "Read-only file system\0" /* EROFS */
    "Too many links\0" /* EMLINK */
    "Broken pipe\0" /* EPIPE */
    "Numerical argument out of domain\0" /* EDOM */
    "Numerical result out of range\0" /* ERANGE */
    "Resource deadlock avoided\0" /* EDEADLK */
    "File name too long\0" /* ENAMETOOLONG */
    "No locks available\0" /* ENOLCK */
    "Function not implemented\0" /* ENOSYS */
    "Directory not empty\0" /* ENOTEMPTY */
    "Too many levels of symbolic links\0" /* ELOOP */
    "\0" /* 41 */
    "No message of desired type\0" /* ENOMSG */
    "Identifier removed\0" /* EIDRM */
    "Channel number out of range\0" /* ECHRNG */
    "Level 2 not synchronized\0" /* EL2NSYNC */
    "Level 3 halted\0" /* EL3HLT */
    "Level 3 reset\0" /* EL3RST */
    "Link number out of range\0" /* ELNRNG */
    "Protocol driver not attached\0" /* EUNATCH */
    "No CSI structure available\0" /* ENOCSI */
    "Level 2 halted\0" /* EL2HLT */
    "Invalid exchange\0" /* EBADE */
    "Invalid request descriptor\0" /* EBADR */
    "Exchange full\0" /* EXFULL */
    "No anode\0" /* ENOANO */
    "Invalid request code\0" /* EBADRQC */
    "Invalid slot\0" /* EBADSLT */
    "\0" /* 58 */
    "Bad font file format\0" /* EBFONT */
    "Device not a stream\0" /* ENOSTR */
    "No data available\0" /* ENODATA */
    "Timer expired\0" /* ETIME */
    "Out of streams resources\0" /* ENOSR */
    "Machine is not on the network\0" /* ENONET */
    "Package not installed\0" /* ENOPKG */
    "Object is remote\0" /* EREMOTE */
    "Link has been severed\0" /* ENOLINK */
    "Advertise error\0" /* EADV */
    "Srmount error\0" /* ESRMNT */
    "Communication error on send\0" /* ECOMM */
    "Protocol error\0" /* EPROTO */
    "Multihop attempted\0" /* EMULTIHOP */
    "RFS specific error\0" /* EDOTDOT */
    "Bad message\0" /* EBADMSG */
    "Value too large for defined data type\0" /* EOVERFLOW */
    "Name not unique on network\0" /* ENOTUNIQ */
    "File descriptor in bad state\0" /* EBADFD */
    "Remote address changed\0" /* EREMCHG */
    "Can not access a needed shared library\0" /* ELIBACC */
    "Accessing a corrupted shared library\0" /* ELIBBAD */
    ".lib section in a.out corrupted\0" /* ELIBSCN */
    "Attempting to link in too many shared libraries\0" /* ELIBMAX */
    "Cannot exec a shared library directly\0" /* ELIBEXEC */
    "Invalid or incomplete multibyte or wide character\0" /* EILSEQ */
    "Interrupted system call should be restarted\0" /* ERESTART */
    "Streams pipe error\0" /* ESTRPIPE */
    "Too many users\0" /* EUSERS */
    "Socket operation on non-socket\0" /* ENOTSOCK */
    "Destination address required\0" /* EDESTADDRREQ */
    "Message too long\0" /* EMSGSIZE */
    "Protocol wrong type for socket\0" /* EPROTOTYPE */
    "Protocol not available\0" /* ENOPROTOOPT */
    "Protocol not supported\0" /* EPROTONOSUPPORT */
    "Socket type not supported\0" /* ESOCKTNOSUPPORT */
    "Operation not supported\0" /* EOPNOTSUPP */
    "Protocol family not supported\0" /* EPFNOSUPPORT */
    "Address family not supported by protocol\0" /* EAFNOSUPPORT */
    "Address already in use\0" /* EADDRINUSE */
    "Cannot assign requested address\0" /* EADDRNOTAVAIL */
    "Network is down\0" /* ENETDOWN */
    "Network is unreachable\0" /* ENETUNREACH */
    "Network dropped connection on reset\0" /* ENETRESET */
    "Software caused connection abort\0" /* ECONNABORTED */
    "Connection reset by peer\0" /* ECONNRESET */
    "No buffer space available\0" /* ENOBUFS */
    "Transport endpoint is already connected\0" /* EISCONN */
    "Transport endpoint is not connected\0" /* ENOTCONN */
    "Cannot send after transport endpoint shutdown\0" /* ESHUTDOWN */
    "Too many references: cannot splice\0" /* ETOOMANYREFS */
    "Connection timed out\0" /* ETIMEDOUT */
    "Connection refused\0" /* ECONNREFUSED */
    "Host is down\0" /* EHOSTDOWN */
    "No route to host\0" /* EHOSTUNREACH */
    "Operation already in progress\0" /* EALREADY */
    "Operation now in progress\0" /* EINPROGRESS */
    "Stale file handle\0" /* ESTALE */
    "Structure needs cleaning\0" /* EUCLEAN */
    "Not a XENIX named type file\0" /* ENOTNAM */
    "No XENIX semaphores available\0" /* ENAVAIL */
    "Is a named type file\0" /* EISNAM */
    "Remote I/O error\0" /* EREMOTEIO */
    "Disk quota exceeded\0" /* EDQUOT */
    "No medium found\0" /* ENOMEDIUM */
    "Wrong medium type\0" /* EMEDIUMTYPE */
    "Operation canceled\0" /* ECANCELED */
    "Required key not available\0" /* ENOKEY */
    "Key has expired\0" /* EKEYEXPIRED */
    "Key has been revoked\0" /* EKEYREVOKED */
    "Key was rejected by service\0" /* EKEYREJECTED */
    "Owner died\0" /* EOWNERDEAD */
    "State not recoverable\0" /* ENOTRECOVERABLE */
    "Operation not possible due to RF-kill\0" /* ERFKILL */
    "Memory page has hardware error"; /* EHWPOISON */

char *strerror(int number)
{
    static char unknown[32];
    const char *text = messages;
    for (int i = 0; i < number && text < messages + sizeof messages; i++)
        text += strlen(text) + 1;
    if (number >= 0 && text < messages + sizeof messages && *text)
        return (char *)text;
    snprintf(unknown, sizeof unknown, "Unknown error %d", number);
    return unknown;
}
