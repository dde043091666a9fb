package com.example;

class First {}

class Second {
  public static void main(String[] arguments) {
    System.out.println(Second.class.getName() + " " + String.join(" ", arguments));
  }
}
