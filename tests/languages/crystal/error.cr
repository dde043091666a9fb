puts ARGV[9]
