# Level 0 by a Ruby Set, as the contest had it: the dictionary is read at every start. See level0.c for the rule.
require 'set'

words = Set.new(File.read(ARGV.fetch(0)).split("\n"))
print($stdin.read.gsub(/[^ \n]+/) { |word| words.include?(word.downcase) ? word : "<#{word}>" })
