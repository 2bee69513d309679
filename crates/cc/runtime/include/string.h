#ifndef _STRING_H
#define _STRING_H

#include <bits_types.h>
#include <stddef.h>

void *memccpy(void *__restrict__, const void *__restrict__, int, size_t);
void *memchr(const void *, int, size_t);
int bcmp(const void *, const void *, size_t);
int memcmp(const void *, const void *, size_t);
void *memcpy(void *__restrict__, const void *__restrict__, size_t);
void *memmem(const void *, size_t, const void *, size_t);
void *memmove(void *, const void *, size_t);
void *mempcpy(void *__restrict__, const void *__restrict__, size_t);
void *memrchr(const void *, int, size_t);
void *memset(void *, int, size_t);
char *stpcpy(char *__restrict__, const char *__restrict__);
char *stpncpy(char *__restrict__, const char *__restrict__, size_t);
char *strcat(char *__restrict__, const char *__restrict__);
char *strchr(const char *, int);
char *strchrnul(const char *, int);
int strcmp(const char *, const char *);
int strcoll(const char *, const char *);
char *strcpy(char *__restrict__, const char *__restrict__);
size_t strcspn(const char *, const char *);
char *strdup(const char *);
char *strerror(int);
size_t strlen(const char *);
char *strncat(char *__restrict__, const char *__restrict__, size_t);
int strncmp(const char *, const char *, size_t);
char *strncpy(char *__restrict__, const char *__restrict__, size_t);
char *strndup(const char *, size_t);
size_t strnlen(const char *, size_t);
char *strpbrk(const char *, const char *);
char *strrchr(const char *, int);
char *strsep(char **__restrict__, const char *__restrict__);
size_t strspn(const char *, const char *);
char *strstr(const char *, const char *);
char *strtok(char *__restrict__, const char *__restrict__);
char *strtok_r(char *__restrict__, const char *__restrict__, char **__restrict__);
size_t strxfrm(char *__restrict__, const char *__restrict__, size_t);

int strcasecmp(const char *, const char *);
int strncasecmp(const char *, const char *, size_t);

#endif
