// timed_hello of Hello World Overdone: times the first and the hundredth print, and two readings of the clock itself.
// The marker bypasses System.out, which must not have been used before the first print.
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;

public class Hello {
  public static void main(String[] args) throws IOException {
    long first = 0, hundredth = 0, clock = Long.MAX_VALUE;
    for (int i = 0; i < 100; i++) {
      long start = System.nanoTime();
      long end = System.nanoTime();
      if (end - start < clock) clock = end - start;
    }
    new FileOutputStream(FileDescriptor.out).write(">>>> before print >>>>>\n".getBytes());
    for (int i = 1; i <= 100; i++) {
      long start = System.nanoTime();
      System.out.println("hello world");
      long end = System.nanoTime();
      if (i == 1) first = end - start;
      hundredth = end - start;
    }
    System.err.println("first " + first + " ns, hundredth " + hundredth + " ns, clock " + clock + " ns");
  }
}
