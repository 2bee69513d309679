# Level 0 with a Ruby Set, as in the contest. It reads the dictionary at every start. See level0.c for the rule.
require 'set'

words = Set.new(File.read(ARGV.fetch(0)).split("\n"))
print($stdin.read.gsub(/[^ \n]+/) { |word| words.include?(word.downcase) ? word : "<#{word}>" })
