class Hello {
    static function main() {
        Sys.println("hello world");
    }
}
