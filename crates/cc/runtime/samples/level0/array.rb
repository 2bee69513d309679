# Level 0 as the contest gave it out, with a Ruby Array. It reads the dictionary at every start. See level0.c for the rule.
words = File.read(ARGV.fetch(0)).split("\n")
print($stdin.read.gsub(/[^ \n]+/) { |word| words.include?(word.downcase) ? word : "<#{word}>" })
