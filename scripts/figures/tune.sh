#!/bin/sh
# Tunes everyday commands, as far as they are installed: tune.sh FIRSTBYTE FOLDER
# Writes FOLDER/NAME.json for each. The commands run in a folder of their own, in your environment. BUDGET: the time for each.
set -eu
firstbyte=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

cat >app.js <<'END'
const https = require('https');
console.log(typeof https.get);
END
cat >Hello.java <<'END'
import java.util.stream.IntStream;
public class Hello {
    public static void main(String[] a) {
        System.out.println(IntStream.range(0, 10).mapToObj(i -> "x" + i).toList());
    }
}
END
! command -v javac >/dev/null || javac Hello.java
mkdir home
printf 'autoload -Uz compinit && compinit -u\nfor i in {1..20000}; do x=$i; done\n' >home/.zshrc

# NAME WAYS COMMAND…
tuned() {
	name=$1 ways=$2
	shift 2
	[ ! -e "$folder/$name.json" ] || return 0
	command -v "$1" >/dev/null || { echo "skipped: $name, there is no $1" >&2; return 0; }
	echo "$name: $*" >&2
	"$firstbyte" tune --yes --budget "${BUDGET:-60s}" --only "$ways" --export-json "$folder/$name.json" -- "$@" || :
}

certificates=unset-NODE_EXTRA_CA_CERTS
tuned ruby ruby-no-helpers,ruby-no-gems ruby -e 'require "json"; require "net/http"; puts 1'
tuned node "$certificates" node app.js
tuned python3 direct,direct-plain python3 -c 'print(1)'
export ZDOTDIR="$place/home"
tuned zsh zsh-no-rc zsh -lic exit
tuned java java-first-compiler,java-class-archive,java-automatic-archive,java-aot-cache java -cp . Hello
tuned npm "$certificates,direct" npm --version
tuned tsc "$certificates,direct" tsc --version
tuned rake ruby-no-helpers,ruby-no-gems rake --version
tuned Rscript direct,direct-plain,r-few-packages Rscript -e 'cat(1)'
tuned php php-no-settings php -r 'echo 1;'
tuned mvn java-first-compiler mvn --version
tuned pytest direct-plain pytest --version
tuned django-admin python-bytecode,python-no-site django-admin --version
tuned black python-bytecode black --version
tuned pip direct-plain pip --version
tuned aws direct-plain aws --version
