import 'dart:io';

void main() {
  var total = 0;
  for (var line = stdin.readLineSync(); line != null; line = stdin.readLineSync()) {
    total += int.parse(line);
  }
  print('Σ = $total ✓');
}
