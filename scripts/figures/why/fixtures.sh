#!/bin/bash
# fixtures.sh FOLDER: makes the home folder and the projects in which the commands of commands.toml run.
set -eu
folder=${1:?the folder for the fixtures}
mkdir -p "$folder/home" "$folder/work"

# what many guides tell people to put there
cat > "$folder/home/.bashrc" <<'RC'
[ -f /usr/share/bash-completion/bash_completion ] && . /usr/share/bash-completion/bash_completion
eval "$(dircolors -b)"
export JAVA_HOME="$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")"
export PATH="$(python3 -m site --user-base)/bin:$PATH"
RC
echo '. "$HOME/.bashrc"' > "$folder/home/.profile"
cat > "$folder/home/.zshrc" <<'RC'
autoload -Uz compinit && compinit -u
autoload -Uz vcs_info
RC

cd "$folder/work"
printf '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n' > hello.c
printf '#include <iostream>\nint main() { std::cout << "hello\\n"; }\n' > hello.cc
printf 'public class Hello { public static void main(String[] a) { System.out.println("hello"); } }\n' > Hello.java
printf 'print("hello")\n' > hello.py
printf 'const x: number = 1;\nconsole.log(x);\n' > hello.ts
printf 'console.log("hello");\n' > hello.js
printf 'export default [];\n' > eslint.config.mjs
printf 'puts "hello"\n' > hello.rb
printf 'all: hello\nhello: hello.c\n\tcc -o hello hello.c\n' > Makefile
: > empty.cmake
printf '#!/bin/sh\nsleep 0.2\necho ready\n' > sleeps.sh
printf '#!/bin/bash\nversion=$(aws --version)\necho "$version"\n' > asks-aws.sh
chmod +x sleeps.sh asks-aws.sh
if command -v javac > /dev/null && [ ! -f javac.jsa ]; then
    javac Hello.java && javac -J-XX:ArchiveClassesAtExit=javac.jsa Hello.java
    command -v mvn > /dev/null && MAVEN_OPTS=-XX:ArchiveClassesAtExit=mvn.jsa mvn --version
fi > /dev/null 2>&1
if [ ! -d repo ]; then
    git init --quiet repo
    cd repo && for n in $(seq 1 2000); do echo "$n" > "file$n"; done
    git add . && git -c user.name=t -c user.email=t@t commit --quiet -m files
    cd ..
fi
if command -v hg > /dev/null && [ ! -d hgrepo ]; then
    hg init hgrepo && cd hgrepo && echo 1 > a && hg add -q a && hg commit -q -u t -m a && cd ..
fi
if command -v cargo > /dev/null && [ ! -d package ]; then
    cargo init --quiet --vcs none package && (cd package && cargo check --quiet)
fi

# modules that have no .pyc files, as where the folder cannot be written
if [ ! -d uncompiled ]; then
    library=$(python3 -c 'import email, os; print(os.path.dirname(os.path.dirname(email.__file__)))')
    mkdir uncompiled && cp -r "$library/email" "$library/http" "$library/asyncio" uncompiled/
    find uncompiled -name __pycache__ -prune -exec rm -r {} +
fi
