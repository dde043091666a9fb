module broken;
  initial undeclared = 1;
endmodule
