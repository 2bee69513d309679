#!/bin/bash
# install.sh FOLDER: installs the commands of commands.toml. Debian's packages need root; everything else goes into FOLDER.
# Commands that are in no package (docker, terraform, kubectl, gcloud, pyenv) are measured if the machine has them.
set -eu
folder=${1:?the folder for what is installed}
debian='git mercurial gcc g++ cmake make curl sqlite3 ffmpeg vim neovim emacs-nox zsh ruby php-cli r-base-core
    default-jdk-headless maven redis-server postgresql python3-venv strace linux-perf ltrace bash-completion
    man-db gdb clang jq autoconf lsb-release rake'
# a Node.js from elsewhere conflicts with Debian's
command -v npm >/dev/null || debian="$debian nodejs npm"
[ "$(id -u)" = 0 ] && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $debian

python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet awscli pytest black pandas requests django ipython mypy ansible-core
npm install --silent --no-audit --no-fund --prefix "$folder/npm" typescript eslint prettier webpack webpack-cli jest
