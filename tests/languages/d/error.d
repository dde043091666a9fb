void main() { throw new Exception("no good"); }
