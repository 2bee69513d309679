/* POSIX's getopt: options end at the first operand. glibc would go on behind it, unless POSIXLY_CORRECT is set. */
#include "../internal.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

char *optarg;
int opterr = 1, optind = 1, optopt;
static const char *next_letter = "";

static int complain(char *const argv[], const char *letters, const char *message)
{
    if (opterr && *letters != ':')
        fprintf(stderr, "%s: %s -- '%c'\n", argv[0], message, optopt);
    return *letters == ':' && message[0] == 'o' ? ':' : '?';
}

static bool next_word(int argc, char *const argv[])
{
    const char *word = optind < argc ? argv[optind] : NULL;
    if (!word || word[0] != '-' || !word[1])
        return false;
    optind++;
    next_letter = word + 1;
    return strcmp(word, "--") != 0;
}

static int take_argument(int argc, char *const argv[], const char *letters)
{
    if (!*next_letter && optind == argc)
        return complain(argv, letters, "option requires an argument");
    optarg = *next_letter ? (char *)next_letter : argv[optind++];
    next_letter = "";
    return optopt;
}

int getopt(int argc, char *const argv[], const char *letters)
{
    if (!*next_letter && !next_word(argc, argv)) {
        next_letter = "";
        return -1;
    }
    optopt = (unsigned char)*next_letter++;
    const char *known = optopt == ':' ? NULL : strchr(letters, optopt);
    if (!known)
        return complain(argv, letters, "invalid option");
    return known[1] == ':' ? take_argument(argc, argv, letters) : optopt;
}
