int main() {
    write("hello world\n");
    return 0;
}
