#!/usr/bin/env bash
# Installs one package of a build into a fresh prefix and lets a project that knows nothing else build against it: where it was
# installed, and once more after the prefix was moved.
#
# usage: check.sh <build folder> <package> <cmake | pkg-config> <compiler> [launcher …]
#        check.sh <build folder> ferrompi other-mpi <compiler> <compiler wrapper of another MPI>
set -euo pipefail

build=$1 package=$2 way=$3 compiler=$4
shift 4
source=$(cd "$(dirname "$0")" && pwd)
folder=$build/install-test/$package-$way
prefix=$folder/prefix
moved="$folder/elsewhere/somewhere else"  # with a blank, as users have them

rm -rf "$folder"
mkdir -p "$folder"
export OMPI_MCA_orte_tmpdir_base=$folder  # see tests/support/own_mpi_directory.py
# The whole build for cobre-comm, which may bring ferrompi; ferrompi alone, to show that it needs no more.
if [ "$package" = ferrompi ]; then
  for component in ferrompi ferrompi-dev; do
    cmake --install "$build" --prefix "$prefix" --component "$component"
  done
else
  cmake --install "$build" --prefix "$prefix"
fi > "$folder/install.log"
if [ "$package" = ferrompi ] && ls "$prefix"/lib*/libcobre-comm* > /dev/null 2>&1; then
  echo "ferrompi alone has installed the library of cobre-comm"
  exit 1
fi
# Nothing installed remembers where it was built.
if grep -rlF --include='*.cmake' --include='*.pc' --include='*.hpp' -e "$build" -e "${source%/tests/install}" "$prefix"; then
  echo "these installed files name the tree that they were built in"
  exit 1
fi

# What the package must give to those who insist on it, and must refuse: as the build was asked for, not as the package says.
present='' absent=''
for part in mpi tcp shm hwloc; do
  if grep -q "^COBRE_COMM_${part^^}:BOOL=ON$" "$build/CMakeCache.txt"; then
    present+="$part;"
  else
    absent+="$part;"
  fi
done

configure() {
  cmake -S "$source/$package" -B "$folder/build" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release \
    -Ucobre-comm_DIR -Uferrompi_DIR -DCMAKE_PREFIX_PATH="$prefix" "$@"
}

if [ "$way" = other-mpi ]; then
  if configure -DMPI_CXX_COMPILER="$1" > "$folder/configure.log" 2>&1; then
    echo "the package lets a project mix two MPIs"
    exit 1
  fi
  grep "ferrompi was built with" "$folder/configure.log"
  exit 0
fi

# build_against_it [launcher …]: builds the project of a stranger and runs it.
build_against_it() {
  if [ "$way" = cmake ]; then
    local -a parts=()
    if [ "$package" = cobre-comm ]; then parts=(-DPRESENT="${present%;}" -DABSENT="${absent%;}"); fi
    configure "${parts[@]}"
    cmake --build "$folder/build"
    program=$folder/build/consumer
  else
    local description libraries flags
    description=$(find "$prefix" -name "$package.pc")
    libraries=${description%/pkgconfig/*}  # lib, or lib64 where a system calls it so
    export PKG_CONFIG_PATH=$libraries/pkgconfig LD_LIBRARY_PATH=$libraries
    # pkg-config quotes blanks for a shell to read.
    flags=$(pkg-config --cflags --libs "$package")
    program=$folder/consumer
    eval "\"$compiler\" -std=c++20 \"$source/$package/main.cpp\" $flags -o \"$program\""
  fi
  "$@" "$program" | tee "$folder/output.txt"
  grep -q consumed "$folder/output.txt"
  # The command comes with the library, and finds it wherever the two are.
  if [ "$package" = cobre-comm ] && [ -x "$prefix/bin/cobre-comm" ]; then
    "$prefix/bin/cobre-comm" run -n 1 "$program" > "$folder/command.txt"
    grep -q consumed "$folder/command.txt"
  fi
}

build_against_it "$@"
mkdir "$folder/elsewhere"
mv "$prefix" "$moved"
prefix=$moved
build_against_it "$@"
# So do the programs that bench starts: what cannot be measured here it names, and that is no failure. Where LD_LIBRARY_PATH
# is set they would find the library also without looking beside themselves.
if [ "$package-$way" = cobre-comm-cmake ] && [ -x "$prefix/bin/cobre-comm" ]; then
  "$prefix/bin/cobre-comm" bench --effort 0.005 --rounds 1 --ops allreduce --sizes 8 --ranks 2 --peers openmpi,mpich \
    | tee "$folder/bench.txt"
  for backend in $("$folder/build/consumer" | sed 's/.* with//; s/:.*//'); do
    grep -Eq " $backend( \\([a-z]+\\))? +[0-9]" "$folder/bench.txt" || { echo "bench has not measured $backend"; exit 1; }
  done
  for peer in openmpi mpich; do
    [ -e "$prefix/libexec/cobre-comm/cobre-bench-$peer" ] || grep "^$peer: not installed: " "$folder/bench.txt"
  done
fi
