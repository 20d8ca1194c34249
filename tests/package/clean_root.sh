#!/usr/bin/env bash
# Installs the packages of a build in a Debian that has nothing but a compiler, and uses them there as a stranger would.
#
# usage: clean_root.sh <build folder that holds packages/*.deb>
#
# Needs root, debootstrap and the package archive, whose address is taken from the machine's own settings. The root with the
# compiler is kept as a tarball in the build folder: the next run begins with that.
set -euo pipefail

build=$(realpath "$1")
source=$(cd "$(dirname "$0")/../install" && pwd)
base=$build/clean-root.tar
root=$build/clean-root

if [ "$(id -u)" -ne 0 ] || ! command -v debootstrap > /dev/null; then
  echo "a clean root needs root and debootstrap: run this as root, after apt-get install debootstrap" >&2
  exit 2
fi
# In a mount namespace of its own: what is mounted below the root goes away with this script, however it ends.
if [ "${CLEAN_ROOT_INSIDE:-}" != yes ]; then
  CLEAN_ROOT_INSIDE=yes exec unshare --mount --propagation private "$0" "$@"
fi

inside() {
  chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive HOME=/tmp "$@"
}

rm -rf "$root"
mkdir -p "$root"
if [ ! -f "$base" ]; then
  codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
  mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(ORIGIN)' 'Created-By: Packages' |
    awk -v codename="$codename" '$2 == codename && $3 == "Debian" {print $1; exit}')
  debootstrap --variant=minbase "$codename" "$root" "${mirror:?apt knows no archive of $codename}"
  echo force-unsafe-io > "$root/etc/dpkg/dpkg.cfg.d/unsafe-io"  # nobody keeps this root
  inside apt-get install -qy --no-install-recommends g++ cmake make pkg-config
  inside apt-get clean
  tar -C "$root" -cf "$base.part" .
  mv "$base.part" "$base"
else
  tar -C "$root" -xf "$base"
fi
cp /etc/resolv.conf "$root/etc/resolv.conf"
cp -r "$source" "$root/consumers"
cp -r "$build/packages" "$root/packages"
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/dev/shm"

add() {  # the names of packages of ours
  local files=()
  for package in "$@"; do files+=("./$(cd "$root/packages" && echo "$package"_*.deb)"); done
  inside sh -c 'cd /packages && apt-get install -qy --no-install-recommends "$@"' sh "${files[@]}"
}
expect() {  # what must be printed, then the command
  local wanted=$1 output
  shift
  echo "+ $*"
  output=$(inside "$@" 2>&1) || { echo "$output"; echo "failed: $*"; exit 1; }
  echo "$output"
  grep -qF -- "$wanted" <<< "$output" || { echo "'$wanted' is not in what this printed: $*"; exit 1; }
}

inside apt-get update -q

# ferrompi alone.
add ferrompi ferrompi-dev
if inside sh -c 'ls /usr/lib/*/libcobre-comm* /usr/include/cobre/comm.hpp' 2> /dev/null; then
  echo "ferrompi has brought cobre-comm along"
  exit 1
fi
inside sh -c 'cmake -S /consumers/ferrompi -B /tmp/ferrompi && cmake --build /tmp/ferrompi'
expect "ferrompi on 2 ranks: consumed" mpirun.openmpi --allow-run-as-root --oversubscribe -n 2 /tmp/ferrompi/consumer

# Everything.
add cobre-comm cobre-comm-dev cobre-comm-tools
inside sh -c 'cmake -S /consumers/cobre-comm -B /tmp/cobre-comm && cmake --build /tmp/cobre-comm'
inside sh -c 'g++ -std=c++20 /consumers/cobre-comm/main.cpp $(pkg-config --cflags --libs cobre-comm) -o /tmp/by-pkg-config'
expect "consumed" /tmp/by-pkg-config
for backend in local shm tcp mpi; do
  ranks=3
  [ "$backend" = local ] && ranks=1
  expect ": consumed" cobre-comm run -n "$ranks" --backend "$backend" /tmp/cobre-comm/consumer
done
expect "shm" cobre-comm info
expect "gloo: not installed: " cobre-comm bench --effort 0.005 --rounds 1 --ops allreduce --sizes 8 --ranks 2

# Programs run without what only compiling needs, and nothing stays behind.
inside apt-get purge -qy cobre-comm-dev ferrompi-dev
expect ": consumed" cobre-comm run -n 2 /tmp/cobre-comm/consumer
inside apt-get purge -qy cobre-comm cobre-comm-tools ferrompi
if left=$(inside find /usr /etc /var/lib -name '*cobre*' -o -name '*ferrompi*' | grep -v '^/var/lib/dpkg/info') && [ -n "$left" ]; then
  echo "the packages have left behind: $left"
  exit 1
fi
umount "$root/proc" "$root/dev/shm"
rm -rf "$root"
echo "The packages install, compile, run and go in a clean root."
