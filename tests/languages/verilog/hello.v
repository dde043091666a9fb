module hello;
  integer total = 0, value, count;
  initial begin
    count = $fscanf(32'h8000_0000, "%d", value);
    while (count == 1) begin
      total = total + value;
      count = $fscanf(32'h8000_0000, "%d", value);
    end
    $display("Σ = %0d ✓", total);
    $finish;
  end
endmodule
