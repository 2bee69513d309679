# Packages of Debian for any architecture, from this machine's mirror. apt uses its own folders in `folder`, so nothing else on
# the machine changes. To be sourced, where `folder` is set and `fail` ends the script with a message.

for tool in apt-get dpkg-deb; do
	command -v $tool >/dev/null || fail "\`$tool\` is missing: packages can only be fetched on Debian"
done
mirror=$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN)' | awk '$2 == "Debian" && $1 !~ /security/ { print $1; exit }')
[ -n "$mirror" ] || fail "apt knows no Debian mirror; help: \`apt-get update\`"

# A mirror may lag behind (Check-Valid-Until). Its signature is still checked.
apt_for() { # Debian's name of the architecture, the suite
	architecture=$1
	of=$2
	shift 2
	root=$folder/apt-$of-$architecture
	mkdir -p "$root/lists/partial" "$root/cache/archives/partial" "$root/etc"
	[ -e "$root/status" ] || : >"$root/status"
	case $of in
	"${ubuntu:-}") echo "deb [signed-by=$keyring] $ubuntu_mirror $of main" ;;
	*) echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $of main" ;;
	esac >"$root/etc/sources.list"
	apt-get -qq -o Dir::State="$root" -o Dir::State::status="$root/status" -o Dir::State::lists="$root/lists" \
		-o Dir::Cache="$root/cache" -o Dir::Etc::SourceList="$root/etc/sources.list" -o Dir::Etc::SourceParts=- \
		-o Dir::Etc::Parts=- -o APT::Architecture="$architecture" -o APT::Architectures="$architecture" \
		-o APT::Sandbox::User=root -o Acquire::Languages=none -o Acquire::Check-Valid-Until=false \
		-o Acquire::http::Timeout=20 -o Acquire::Retries=2 "$@"
}

# Sets `ubuntu_mirror` and `keyring`: the mirror is debootstrap's, the keys are those that Debian packs.
ubuntu_needs() {
	ubuntu_mirror=$(sed -n 's|.*default_mirror \([a-z]*://archive\..*\)|\1|p' /usr/share/debootstrap/scripts/gutsy)
	[ -n "$ubuntu_mirror" ] || fail "Ubuntu's mirror is unknown; help: apt-get install debootstrap"
	keyring=$folder/ubuntu-archive-keyring.gpg
	[ ! -s "$keyring" ] || return 0
	native=$(dpkg --print-architecture)
	debs=$folder/debs-keyring
	mkdir -p "$debs"
	apt_for "$native" trixie update
	(cd "$debs" && apt_for "$native" trixie download ubuntu-keyring)
	unpacked '*/ubuntu-archive-keyring.gpg' -O >"$keyring"
	[ -s "$keyring" ] || fail "Ubuntu's keys are missing: \`ubuntu-keyring\` of Debian's trixie cannot be had from $mirror"
	rm -rf "$debs" "$folder/apt-trixie-$native"
}

# Of all packages in the folder `debs`.
unpacked() { # a pattern, tar's options
	pattern=$1
	shift
	for deb in "$debs"/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" | tar -x --wildcards "$@" "$pattern" 2>/dev/null || true
	done
}
