//! The programs: each divides its time seventy to thirty, by functions and by the lines of two loops, and has a recursion and
//! a child.

use std::path::Path;
use std::process::Command;

/// A program in one language, and what is true of it.
pub(super) struct Truth {
    pub(super) language: &'static str,
    /// Where it usually is, and the environment variable with the paths of others.
    pub(super) interpreter: &'static str,
    pub(super) variable: &'static str,
    pub(super) options: &'static str,
    /// With these options the code is compiled while it runs, and with the others so that functions are inside their callers.
    pub(super) compiled: Option<[&'static str; 2]>,
    /// The arguments; `FOLDER` is where the files are.
    pub(super) program: &'static str,
    /// The first one has the functions.
    pub(super) files: &'static [(&'static str, &'static str)],
    pub(super) prepare: Option<fn(&Path, &Path) -> bool>,
    /// The functions that call both parts, the smaller part, and the loops; and where they are defined.
    pub(super) work: &'static str,
    pub(super) light: &'static str,
    pub(super) loops: &'static str,
    pub(super) defined: [u64; 3],
    pub(super) loop_lines: [[u64; 2]; 2],
    pub(super) stacks: &'static [&'static str],
    /// What calls the function that calls itself 200 times, that function, and what it calls.
    pub(super) recursion: [&'static str; 3],
}

pub(super) const ALL: [Truth; 6] = [RUBY, PERL, PHP, BASH, ZSH, JAVA];

const RUBY: Truth = Truth {
    language: "Ruby",
    interpreter: "/usr/bin/ruby",
    variable: "FIRSTBYTE_RUBIES",
    options: "--disable-gems",
    compiled: None,
    program: "FOLDER/app.rb",
    files: &[
        (
            "burn.rb",
            "\
def spin(times)
  total = 0
  i = 0
  while i < times
    total += i % 7
    i += 1
  end
  total
end

def heavy(times)
  spin(7 * times)
end

class Light
  def light(times)
    spin(3 * times)
  end
end

def loops(times)
  total = i = j = 0
  while i < 7 * times
    total += (i += 1)
  end
  while j < 3 * times
    total += (j += 1)
  end
  total
end

def down(depth)
  depth > 0 ? down(depth - 1) : loops(60_000)
end

def work(rounds)
  rounds.times do
    heavy(2000)
    Light.new.light(2000)
  end
end
",
        ),
        (
            "app.rb",
            "\
require_relative 'burn'
work(100)
loops(100_000)
down(200)
Thread.new { heavy(60_000) }.join
Process.wait(fork { heavy(60_000) })
puts 'done'
",
        ),
    ],
    prepare: None,
    work: "block in work",
    light: "light",
    loops: "loops",
    defined: [37, 16, 21],
    loop_lines: [[23, 24], [26, 27]],
    stacks: &[
        // from 3.3 on, `times` is a function of Ruby
        ";block in work (burn.rb:37);light (burn.rb:16);spin (burn.rb:1)",
        ";<main> (app.rb:1);work (burn.rb:36);",
        ";block in <main> (app.rb:5);heavy (burn.rb:11)",
        ";block in <main> (app.rb:6);heavy (burn.rb:11)",
    ],
    recursion: [";<main> (app.rb:1)", ";down (burn.rb:32)", ";loops (burn.rb:21)"],
};

/// Functions are where their first statements are.
const PERL: Truth = Truth {
    language: "Perl",
    interpreter: "/usr/bin/perl",
    variable: "FIRSTBYTE_PERLS",
    options: "",
    compiled: None,
    program: "FOLDER/app.pl",
    files: &[
        (
            "Burn.pm",
            "\
package Burn;
use strict;
sub spin {
    my ($times) = @_;
    my $total = 0;
    for (my $i = 0; $i < $times; $i++) { $total += $i % 7 }
    return $total;
}
sub heavy { my ($times) = @_; return spin(7 * $times) }
sub light { my ($times) = @_; return spin(3 * $times) }
sub loops {
    my ($times) = @_;
    my ($total, $i, $j) = (0, 0, 0);
    while ($i < 7 * $times) {
        $total += $i++;
    }
    while ($j < 3 * $times) {
        $total += $j++;
    }
    return $total;
}
sub down { my ($depth) = @_; return $depth > 0 ? down($depth - 1) : loops(60_000) }
sub work { for (1 .. $_[0]) { heavy(2000); light(2000) } }
spin(300_000);
1;
",
        ),
        (
            "app.pl",
            "\
use FindBin;
use lib $FindBin::Bin;
use threads;
use Burn;
Burn::work(100);
Burn::loops(100_000);
Burn::down(200);
threads->create(sub { Burn::heavy(60_000) })->join;
my $child = fork;
if (!$child) { Burn::heavy(60_000); exit 0 }
waitpid $child, 0;
print \"done\\n\";
",
        ),
    ],
    prepare: None,
    work: "Burn::work",
    light: "Burn::light",
    loops: "Burn::loops",
    defined: [23, 10, 12],
    loop_lines: [[14, 15], [17, 18]],
    stacks: &[
        ";<main> (app.pl:1);Burn::work (Burn.pm:23);Burn::light (Burn.pm:10);Burn::spin (Burn.pm:4)",
        ";<main> (app.pl:1);BEGIN (app.pl:4);<require> (Burn.pm:1);Burn::spin (Burn.pm:4)",
        ";__ANON__ (app.pl:8);Burn::heavy (Burn.pm:9)",
        ";<main> (app.pl:1);Burn::heavy (Burn.pm:9);Burn::spin (Burn.pm:4)",
    ],
    recursion: [";<main> (app.pl:1)", ";Burn::down (Burn.pm:22)", ";Burn::loops (Burn.pm:12)"],
};

pub(super) const PHP: Truth = Truth {
    language: "PHP",
    interpreter: "/usr/bin/php",
    variable: "FIRSTBYTE_PHPS",
    options: "",
    compiled: None,
    program: "FOLDER/app.php",
    files: &[
        (
            "burn.php",
            "\
<?php
function spin($times) {
    $total = 0;
    for ($i = 0; $i < $times; $i++) $total += $i % 7;
    return $total;
}
function heavy($times) {
    return spin(7 * $times);
}
class Light {
    function light($times) {
        return spin(3 * $times);
    }
}
function loops($times) {
    $total = $i = $j = 0;
    while ($i < 7 * $times)
        $total += $i++;
    while ($j < 3 * $times)
        $total += $j++;
    return $total;
}
function down($depth) {
    return $depth > 0 ? down($depth - 1) : loops(300000);
}
function work($rounds) {
    for ($i = 0; $i < $rounds; $i++) {
        heavy(20000);
        (new Light)->light(20000);
    }
}
spin(1000000);
",
        ),
        (
            "app.php",
            "\
<?php
require __DIR__ . '/burn.php';
work(100);
loops(600000);
down(200);
array_map(function ($times) { return heavy($times); }, [300000]);
echo \"done\\n\";
",
        ),
    ],
    prepare: None,
    work: "work",
    light: "Light::light",
    loops: "loops",
    defined: [26, 11, 15],
    loop_lines: [[17, 18], [19, 20]],
    stacks: &[
        ";<main> (app.php:1);work (burn.php:26);Light::light (burn.php:11);spin (burn.php:2)",
        ";<main> (app.php:1);<include> (burn.php:1);spin (burn.php:2)",
        ";<main> (app.php:1);{closure} (app.php:6);heavy (burn.php:7);spin (burn.php:2)",
    ],
    recursion: [";<main> (app.php:1)", ";down (burn.php:23)", ";loops (burn.php:15)"],
};

const SHELL_FUNCTIONS: &str = "\
spin() {
  local i=0 total=0
  while [ $i -lt $1 ]; do
    i=$((i + 1))
  done
}
heavy() {
  spin $((7 * $1))
}
light() {
  spin $((3 * $1))
}
loops() {
  local i=0 j=0
  while [ $i -lt $((7 * $1)) ]; do
    i=$((i + 1))
  done
  while [ $j -lt $((3 * $1)) ]; do
    j=$((j + 1))
  done
}
down() {
  if [ $1 -gt 0 ]; then down $(($1 - 1)); else loops 1500; fi
}
work() {
  local round=0
  while [ $round -lt $1 ]; do
    heavy 100
    light 100
    round=$((round + 1))
  done
}
";

const SHELL_SCRIPT: &str = "\
. \"${0%/*}/burn.sh\"
work 40
loops 2000
down 200
(heavy 2000)
echo done
";

pub(super) const BASH: Truth = Truth {
    language: "bash",
    interpreter: "/bin/bash",
    variable: "FIRSTBYTE_BASHES",
    options: "",
    compiled: None,
    program: "FOLDER/app.sh",
    files: &[("burn.sh", SHELL_FUNCTIONS), ("app.sh", SHELL_SCRIPT)],
    prepare: None,
    work: "work",
    light: "light",
    loops: "loops",
    defined: [25, 10, 13],
    loop_lines: [[15, 16], [18, 19]],
    stacks: &[
        ";<main> (app.sh:1);work (burn.sh:25);light (burn.sh:10);spin (burn.sh:1)",
        ";<main> (app.sh:1);heavy (burn.sh:7);spin (burn.sh:1)",
    ],
    recursion: [";<main> (app.sh:1)", ";down (burn.sh:22)", ";loops (burn.sh:13)"],
};

pub(super) const ZSH: Truth = Truth {
    language: "zsh",
    interpreter: "/usr/bin/zsh",
    variable: "FIRSTBYTE_ZSHES",
    options: "-f",
    ..BASH
};

const JAVA: Truth = Truth {
    language: "Java",
    interpreter: "/usr/bin/java",
    variable: "FIRSTBYTE_JAVAS",
    options: "-Xint -cp FOLDER",
    compiled: Some(["-XX:-Inline -cp FOLDER", "-cp FOLDER"]),
    program: "App",
    files: &[
        (
            "Burn.java",
            "\
class Burn {
    static long spin(int times) {
        long total = 0;
        for (int i = 0; i < times; i++) total += i % 7;
        return total;
    }
    static long heavy(int times) {
        return spin(7 * times);
    }
    static long light(int times) {
        return spin(3 * times);
    }
    static long loops(int times) {
        long total = 0;
        for (int i = 0; i < 7 * times; i++)
            total += i;
        for (int i = 0; i < 3 * times; i++)
            total += i;
        return total;
    }
    static long down(int depth) {
        return depth > 0 ? down(depth - 1) : loops(200000);
    }
    static void work(int rounds) {
        for (int i = 0; i < rounds; i++) {
            heavy(5000);
            light(5000);
        }
    }
}
",
        ),
        (
            "App.java",
            "\
public class App {
    public static void main(String[] arguments) throws Exception {
        Burn.work(System.getProperty(\"java.vm.info\").startsWith(\"interpreted\") ? 200 : 4000);
        Burn.loops(400000);
        Burn.down(200);
        Thread thread = new Thread(() -> Burn.heavy(400000));
        thread.start();
        thread.join();
        System.out.println(\"done\");
    }
}
",
        ),
    ],
    prepare: Some(compiled_by_javac),
    work: "Burn.work",
    light: "Burn.light",
    loops: "Burn.loops",
    defined: [25, 11, 14],
    loop_lines: [[15, 16], [17, 18]],
    stacks: &[
        ";App.main (App.java:3);Burn.work (Burn.java:25);Burn.light (Burn.java:11);Burn.spin (Burn.java:3)",
        ";App.lambda$main$0 (App.java:6);Burn.heavy (Burn.java:8);Burn.spin (Burn.java:3)",
    ],
    recursion: [";App.main (App.java:3)", ";Burn.down (Burn.java:22)", ";Burn.loops (Burn.java:14)"],
};

/// By the compiler beside the interpreter.
fn compiled_by_javac(java: &Path, folder: &Path) -> bool {
    let compiler = java.canonicalize().unwrap_or_default().with_file_name("javac");
    let sources = ["App.java", "Burn.java"].map(|name| folder.join(name));
    Command::new(compiler).arg("-d").arg(folder).args(sources).status().is_ok_and(|status| status.success())
}
