module failing;
  initial $fatal(1, "no good");
endmodule
