/* base64 [-d]: encodes or decodes standard input (RFC 4648), 76 characters per line. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void encode_group(const unsigned char *bytes, size_t length)
{
    unsigned long group = (unsigned long)bytes[0] << 16;

    if (length > 1)
        group |= (unsigned long)bytes[1] << 8;
    if (length > 2)
        group |= bytes[2];
    putchar(alphabet[group >> 18 & 63]);
    putchar(alphabet[group >> 12 & 63]);
    putchar(length > 1 ? alphabet[group >> 6 & 63] : '=');
    putchar(length > 2 ? alphabet[group & 63] : '=');
}

static void encode(void)
{
    unsigned char bytes[3];
    size_t length;
    int column = 0;

    while ((length = fread(bytes, 1, sizeof bytes, stdin)) > 0) {
        encode_group(bytes, length);
        column += 4;
        if (column == 76) {
            putchar('\n');
            column = 0;
        }
    }
    if (column > 0)
        putchar('\n');
}

static int decode(void)
{
    unsigned long group = 0;
    int c, count = 0, padding = 0;

    while ((c = getchar()) != EOF) {
        const char *found;
        if (isspace(c))
            continue;
        found = c == '=' ? alphabet : strchr(alphabet, c);
        if (found == NULL || c == '\0' || (padding > 0 && c != '='))
            return EXIT_FAILURE;
        padding += c == '=';
        group = group << 6 | (unsigned long)(found - alphabet);
        if (++count < 4)
            continue;
        if (padding > 2)
            return EXIT_FAILURE;
        putchar((int)(group >> 16 & 255));
        if (padding < 2)
            putchar((int)(group >> 8 & 255));
        if (padding < 1)
            putchar((int)(group & 255));
        count = 0;
        group = 0;
    }
    return count == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    int status = EXIT_SUCCESS;

    if (argc == 2 && strcmp(argv[1], "-d") == 0)
        status = decode();
    else if (argc == 1)
        encode();
    else
        status = EXIT_FAILURE;
    if (status != EXIT_SUCCESS)
        fputs("base64: invalid input or option\n", stderr);
    return status;
}
