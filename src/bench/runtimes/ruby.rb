# Measures how long each `require` takes, with the files that it requires in turn.
module FirstbyteLoads
  ROWS = []
  PROCESS = Process.pid
  @depth = 0

  def self.measure(name)
    row = [@depth, 0, name]
    ROWS << row
    @depth += 1
    from = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
    begin
      yield
    ensure
      row[1] = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - from
      @depth -= 1
    end
  end
end

module Kernel
  alias_method :firstbyte_require, :require
  alias_method :firstbyte_load, :load

  def require(name)
    FirstbyteLoads.measure(name) { firstbyte_require(name) }
  end

  def load(name, *rest)
    FirstbyteLoads.measure(name) { firstbyte_load(name, *rest) }
  end
  private :require, :load
end

at_exit do
  # a forked child has its parent's rows
  next unless Process.pid == FirstbyteLoads::PROCESS
  lines = FirstbyteLoads::ROWS.map { |depth, time, name| "#{depth}\t#{time}\t#{name}\t\n" }
  File.write("#{ENV['FIRSTBYTE_LOADS']}/ruby-#{Process.pid}", lines.join)
end
