#!/bin/sh
# Tunes everyday commands: tune.sh FIRSTBYTE FOLDER [INSTALLED]
# Writes FOLDER/NAME.json for each; what is there already is measured again only with AGAIN=1. Those of Python and TypeScript
# are installed in the folder INSTALLED first (default: target/tune). Of the others, those that the machine lacks are skipped.
# The commands run in a folder of their own, in your environment. BUDGET: the time for each; ONLY_TUNE: their names.
set -eu
firstbyte=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
installed=$(realpath -m "${3:-target/tune}")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

if [ ! -e "$installed/done" ]; then
	python3 -m venv "$installed/venv"
	"$installed/venv/bin/pip" install --quiet awscli black django pytest
	npm install --silent --no-audit --no-fund --prefix "$installed/npm" typescript
	: >"$installed/done"
fi
cd "$place"

cat >app.js <<'END'
const https = require('https');
console.log(typeof https.get);
END
echo '{"scripts": {"app": "node app.js"}}' >package.json
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
	case " ${ONLY_TUNE:-$name} " in *" $name "*) ;; *) return 0 ;; esac
	[ -n "${AGAIN:-}" ] || [ ! -e "$folder/$name.json" ] || return 0
	command -v "$1" >/dev/null || { echo "skipped: $name, there is no $1" >&2; return 0; }
	echo "$name: $*" >&2
	"$firstbyte" tune --yes --budget "${BUDGET:-60s}" --only "$ways" --export-json "$folder/$name.json" -- "$@" || :
}

python=python-bytecode,python-lazy,python-no-site
ruby=ruby-no-helpers,ruby-no-gems
certificates=$([ -z "${NODE_EXTRA_CA_CERTS:-}" ] || echo unset-NODE_EXTRA_CA_CERTS,)
tuned ruby "$ruby" ruby -e 'require "json"; require "net/http"; puts 1'
tuned node "$certificates"node-max-lazy node app.js
tuned python3 direct,direct-plain python3 -c 'print(1)'
tuned java java-first-compiler,java-class-archive,java-automatic-archive,java-aot-cache java -cp . Hello
tuned npm "$certificates"direct npm --version
tuned npm-run "$certificates"direct-child npm run --silent app
tuned rake "$ruby" rake --version
tuned Rscript direct,direct-plain,r-few-packages Rscript -e 'cat(1)'
tuned php php-no-settings php -r 'echo 1;'
tuned mvn java-first-compiler mvn --version
tuned go go-no-collector,go-one-processor go version
PATH="$installed/npm/node_modules/.bin:$installed/venv/bin:$PATH"
tuned tsc "$certificates"direct tsc --version
tuned pytest "$python" pytest --version
tuned django-admin "$python" django-admin --version
tuned black "$python" black --version
tuned pip "$python" pip --version
tuned aws "$python" aws --version
export ZDOTDIR="$place/home"
tuned zsh zsh-no-rc,zsh-compiled,zsh-line zsh -lic exit
