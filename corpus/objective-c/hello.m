#include <objc/objc.h>
#include <stdio.h>

__attribute__((objc_root_class))
@interface Hello
+ (void)print;
@end

@implementation Hello
+ (void)print {
    puts("hello world");
}
@end

int main(void) {
    [Hello print];
    return 0;
}
