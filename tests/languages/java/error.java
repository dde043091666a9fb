class Failing {
  public static void main(String[] arguments) {
    System.exit(1 / arguments.length);
  }
}
