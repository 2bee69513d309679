# Measures how long each `require`, `require_relative` and `load` takes, with the files that it requires in turn. What
# `autoload` brings in comes through `require`.
module FirstbyteLoads
  # Those of each thread: several can require at once.
  ROWS = Hash.new { |all, thread| all[thread] = [] }.compare_by_identity
  PROCESS = Process.pid

  def self.measure(name)
    thread = Thread.current
    rows = ROWS[thread]
    depth = thread.thread_variable_get(:firstbyte_depth) || 0
    row = [depth, '-', name]
    rows << row
    thread.thread_variable_set(:firstbyte_depth, depth + 1)
    from = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
    begin
      loaded = yield
    ensure
      time = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - from
      # where the program exits within it, it is a part of the program
      row[1] = time unless $!.is_a?(SystemExit)
      thread.thread_variable_set(:firstbyte_depth, depth)
      # what has been loaded before is no load
      rows.pop if loaded == false && rows.last.equal?(row)
    end
  end

  # The file that a relative name means; nil in code without a file.
  def self.absolute(name, location)
    file = location && (location.absolute_path || location.path)
    File.expand_path(name.to_str, File.dirname(File.realpath(file))) if file && File.exist?(file)
  end
end

module Kernel
  alias_method :firstbyte_require, :require
  alias_method :firstbyte_require_relative, :require_relative
  alias_method :firstbyte_load, :load

  def require(name)
    FirstbyteLoads.measure(name) { firstbyte_require(name) }
  end

  def require_relative(name)
    file = FirstbyteLoads.absolute(name, caller_locations(1, 1).first)
    return firstbyte_require_relative(name) unless file
    FirstbyteLoads.measure(name) { firstbyte_require(file) }
  end

  def load(name, *rest)
    FirstbyteLoads.measure(name) { firstbyte_load(name, *rest) }
  end
  private :require, :require_relative, :load

  class << self
    alias_method :firstbyte_load, :load

    def require(name)
      FirstbyteLoads.measure(name) { firstbyte_require(name) }
    end

    def load(name, *rest)
      FirstbyteLoads.measure(name) { firstbyte_load(name, *rest) }
    end
  end
end

at_exit do
  # a forked child has its parent's rows
  next unless Process.pid == FirstbyteLoads::PROCESS
  rows = FirstbyteLoads::ROWS.values.flatten(1)
  lines = rows.map { |depth, time, name| "#{depth}\t#{time}\t#{name}\t\n" }
  File.write("#{ENV['FIRSTBYTE_LOADS']}/ruby-#{Process.pid}", lines.join)
end
