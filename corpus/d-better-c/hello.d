import core.stdc.stdio;

extern (C) int main()
{
    puts("hello world");
    return 0;
}
