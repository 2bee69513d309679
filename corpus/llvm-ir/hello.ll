@text = constant [12 x i8] c"hello world\00"
declare i32 @puts(i8*)

define i32 @main() {
  call i32 @puts(i8* getelementptr ([12 x i8], [12 x i8]* @text, i64 0, i64 0))
  ret i32 0
}
