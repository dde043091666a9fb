import java.util.Scanner;

// class Wrong { }
public class Hello {
  record Total(int value) {}

  public static void main(String[] arguments) {
    Scanner in = new Scanner(System.in);
    int sum = 0;
    while (in.hasNextInt()) sum += in.nextInt();
    System.out.println("Σ = " + new Total(sum).value() + " ✓");
  }
}
