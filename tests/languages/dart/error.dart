void main() => throw Exception('no good');
