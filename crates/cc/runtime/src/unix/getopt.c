/* The getopt of POSIX. From glibc it takes optional arguments ("b::", only in the word of the option) and the restart with
 * optind = 0. Options end at the first operand. glibc continues after it, unless the letters start with + or
 * POSIXLY_CORRECT is set. */
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

/* optind moves past a word when its last letter is taken, not earlier, because the program can see it. */
static void pass_letter(void)
{
    if (!*++next_letter)
        optind++;
}

static bool next_word(int argc, char *const argv[])
{
    const char *word = optind < argc ? argv[optind] : NULL;
    if (!word || word[0] != '-' || !word[1])
        return false;
    if (!strcmp(word, "--")) {
        optind++;
        return false;
    }
    next_letter = word + 1;
    return true;
}

static int take_argument(int argc, char *const argv[], const char *letters, bool optional)
{
    bool in_word = *next_letter;
    if (!in_word && optional)
        return optopt;
    if (!in_word && optind >= argc)
        return complain(argv, letters, "option requires an argument");
    optarg = in_word ? (char *)next_letter : argv[optind];
    optind++;
    next_letter = "";
    return optopt;
}

int getopt(int argc, char *const argv[], const char *letters)
{
    letters += *letters == '+';
    optarg = NULL;
    if (!optind) {
        optind = 1;
        next_letter = "";
    }
    if (!*next_letter && !next_word(argc, argv))
        return -1;
    optopt = (unsigned char)*next_letter;
    pass_letter();
    const char *known = optopt == ':' ? NULL : strchr(letters, optopt);
    if (!known)
        return complain(argv, letters, "invalid option");
    return known[1] == ':' ? take_argument(argc, argv, letters, known[2] == ':') : optopt;
}
